package access

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
)

func tokenFile(dataDir string) string { return filepath.Join(dataDir, "nats.token") }

// EnsureToken returns the readers' token. It creates one if there is none, if the file has other bytes, or if
// others could read the file or have written it. Only one process may call it at a time.
func EnsureToken(dataDir string, logger *slog.Logger) (string, error) {
	file := tokenFile(dataDir)
	info, err := os.Stat(file)
	if err == nil {
		err = secret(file, info)
	}
	if token := Token(dataDir); err == nil && token != "" {
		return token, nil
	}
	if errors.Is(err, ErrUntrusted) {
		logger.Warn("the token of the log's readers is replaced", "error", err)
	}
	token := NewToken()
	return token, writeFile(file, token)
}

// Token returns the readers' token as it is now; empty if there is none. Readers call it
// at each connection, so a new token reaches them. A file that a power cut has left with NULs has no token:
// anybody could guess it.
func Token(dataDir string) string {
	token := readTrimmed(tokenFile(dataDir))
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return ""
	}
	return token
}

// NewToken returns a random token.
func NewToken() string {
	var token [24]byte
	rand.Read(token[:]) // never fails
	return hex.EncodeToString(token[:])
}
