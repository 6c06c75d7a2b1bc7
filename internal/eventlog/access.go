package eventlog

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nats-server/v2/server"
)

func logFolder(dataDir string) string   { return filepath.Join(dataDir, "log") }
func lockFile(dataDir string) string    { return filepath.Join(dataDir, "log.lock") }
func tokenFile(dataDir string) string   { return filepath.Join(dataDir, "nats.token") }
func addressFile(dataDir string) string { return filepath.Join(dataDir, "nats.addr") }

const (
	writerAccount = "PAYFOLD"
	readerAccount = "PAYFOLD_READ"
)

// authenticator lets this process write and answer readers, each on a connection of
// its own, and whoever has the token read.
type authenticator struct {
	token, secret, answers string
	writer, reader         *server.Account
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
	if subtle.ConstantTimeCompare(presented, []byte(a.secret)) == 1 {
		c.RegisterUser(&server.User{Username: "ingest", Account: a.writer})
		return true
	}
	if subtle.ConstantTimeCompare(presented, []byte(a.answers)) == 1 {
		c.RegisterUser(&server.User{Username: "answers", Account: a.reader, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{durableQuestion}},
		}})
		return true
	}
	if subtle.ConstantTimeCompare(presented, []byte(a.token)) == 1 {
		c.RegisterUser(&server.User{Username: "reader", Account: a.reader, Permissions: &server.Permissions{
			Publish:   &server.SubjectPermission{Allow: []string{"log.>"}},
			Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>"}},
		}})
		return true
	}
	return false
}

func ensureToken(file string) (string, error) {
	if token := readTrimmed(file); token != "" {
		return token, nil
	}
	token := randomToken()
	return token, writeFile(file, token)
}

func randomToken() string {
	var token [24]byte
	rand.Read(token[:]) // never fails
	return hex.EncodeToString(token[:])
}

// writeFile replaces the file whole or not at all, for its owner only.
func writeFile(file, text string) error {
	temporary := file + ".new"
	if err := os.WriteFile(temporary, []byte(text+"\n"), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
