package eventlog

import (
	"crypto/subtle"
	_ "embed"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

//go:embed accounts.conf
var accounts string

// The accounts of accounts.conf.
const (
	writerAccount = "PAYFOLD"
	readerAccount = "PAYFOLD_READ"
)

func accountsFor(stream string) string { return strings.ReplaceAll(accounts, "%STREAM%", stream) }

// authenticator gives each connection its rights, by the token that it presents: one of
// this process may write, another answers readers, and every other process may only read.
type authenticator struct {
	readerToken, writerToken, answerToken string
	writer, reader                        *server.Account
}

func (a *authenticator) find(s *server.Server) (err error) {
	if a.writer, err = s.LookupAccount(writerAccount); err != nil {
		return err
	}
	a.reader, err = s.LookupAccount(readerAccount)
	return err
}

func (a *authenticator) Check(c server.ClientAuthentication) bool {
	presented := []byte(c.GetOpts().Token)
	if subtle.ConstantTimeCompare(presented, []byte(a.writerToken)) == 1 {
		c.RegisterUser(&server.User{Username: "ingest", Account: a.writer})
		return true
	}
	if subtle.ConstantTimeCompare(presented, []byte(a.answerToken)) == 1 {
		c.RegisterUser(&server.User{Username: "answers", Account: a.reader, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{durableQuestion}},
		}})
		return true
	}
	if subtle.ConstantTimeCompare(presented, []byte(a.readerToken)) == 1 {
		c.RegisterUser(&server.User{Username: "reader", Account: a.reader, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"log.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}})
		return true
	}
	return false
}
