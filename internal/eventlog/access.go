package eventlog

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
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

// ensureToken returns the token in the file, or makes one. One that others could
// read, or have put there, is replaced: readers look each time.
func ensureToken(file string, logger *slog.Logger) (string, error) {
	info, err := os.Stat(file)
	if err == nil {
		err = secret(file, info)
	}
	if token := readTrimmed(file); err == nil && token != "" {
		return token, nil
	}
	if errors.Is(err, errUntrusted) {
		logger.Warn("the token of the log's readers is made anew", "error", err)
	}
	token := randomToken()
	return token, writeFile(file, token)
}

func randomToken() string {
	var token [24]byte
	rand.Read(token[:]) // never fails
	return hex.EncodeToString(token[:])
}

// writeFile replaces the file whole or not at all, for its owner only. One process
// writes there at a time.
func writeFile(file, text string) error {
	temporary := file + ".new"
	_ = os.Remove(temporary) // of a process that was killed, or a trap of somebody else's
	out, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	_, err = out.WriteString(text + "\n")
	if err = errors.Join(err, out.Sync(), out.Close()); err == nil {
		err = os.Rename(temporary, file)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
