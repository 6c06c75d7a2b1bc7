// Package accounts says what each connection to the embedded log may do.
package accounts

import (
	"crypto/subtle"
	_ "embed"
	"strings"

	"github.com/nats-io/nats-server/v2/server"
)

//go:embed accounts.conf
var config string

// The accounts of accounts.conf.
const (
	Writer = "PAYFOLD"
	reader = "PAYFOLD_READ"
)

// Configure adds the accounts of a stream to the server's options.
func Configure(options *server.Options, stream string) error {
	return options.ProcessConfigString(strings.ReplaceAll(config, "%STREAM%", stream))
}

// DurableQuestion is the subject on which readers ask the writing process whether a message is
// durable.
const DurableQuestion = "log.durable"

// Authenticator gives each connection its rights, by the token that it presents: one connection of
// this process may write, another answers readers, and every other process may only read.
type Authenticator struct {
	WriterToken, AnswerToken, ReaderToken string

	writer, reader *server.Account
}

// Find looks up the accounts of a server that has not been started yet.
func (a *Authenticator) Find(s *server.Server) (err error) {
	if a.writer, err = s.LookupAccount(Writer); err != nil {
		return err
	}
	a.reader, err = s.LookupAccount(reader)
	return err
}

// Check implements server.Authentication.
func (a *Authenticator) Check(c server.ClientAuthentication) bool {
	presented := []byte(c.GetOpts().Token)
	if subtle.ConstantTimeCompare(presented, []byte(a.WriterToken)) == 1 {
		c.RegisterUser(&server.User{Username: "ingest", Account: a.writer})
		return true
	}
	if subtle.ConstantTimeCompare(presented, []byte(a.AnswerToken)) == 1 {
		c.RegisterUser(&server.User{Username: "answers", Account: a.reader, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{DurableQuestion}},
		}})
		return true
	}
	if subtle.ConstantTimeCompare(presented, []byte(a.ReaderToken)) == 1 {
		c.RegisterUser(&server.User{Username: "reader", Account: a.reader, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"log.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}})
		return true
	}
	return false
}
