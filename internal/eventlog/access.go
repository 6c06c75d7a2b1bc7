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

// ensureToken returns the token in the file. It creates one if there is none, or if
// others could read the file or have written it. Readers read the file at each
// connection, so a new token reaches them.
func ensureToken(file string, logger *slog.Logger) (string, error) {
	info, err := os.Stat(file)
	if err == nil {
		err = secret(file, info)
	}
	if token := readTrimmed(file); err == nil && token != "" {
		return token, nil
	}
	if errors.Is(err, errUntrusted) {
		logger.Warn("the token of the log's readers is replaced", "error", err)
	}
	token := randomToken()
	return token, writeFile(file, token)
}

func randomToken() string {
	var token [24]byte
	rand.Read(token[:]) // never fails
	return hex.EncodeToString(token[:])
}

// writeFile replaces the whole file, or leaves it as it is. Only its owner can read it.
// Only one process may write it at a time.
func writeFile(file, text string) error {
	temporary := file + ".new"
	_ = os.Remove(temporary) // a killed process left it, or another user planted a link
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
