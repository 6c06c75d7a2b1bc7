package testenv

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// QuickLogins returns m with quick password checks: the server hashes passwords with one
// iteration instead of 4096. With the race detector each iteration is so slow that
// programs would spend more time on logins than on their work. Password and protocol stay
// the same.
func QuickLogins(m interface{ Run() int }) interface{ Run() int } { return quick{m} }

type quick struct{ tests interface{ Run() int } }

func (q quick) Run() int {
	if err := storeVerifier(); err != nil {
		return fail(err)
	}
	return q.tests.Run()
}

func storeVerifier() error {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Timeout)
	defer cancel()
	connection, err := pgx.Connect(ctx, serverDSN)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	verifier, err := verifierOf(connection.Config().Password)
	if err != nil {
		return err
	}
	_, err = connection.Exec(ctx, "alter role current_user password '"+verifier+"'")
	return err
}

// verifierOf returns what PostgreSQL stores for a password with SCRAM-SHA-256 (RFC 5802).
func verifierOf(password string) (string, error) {
	salt := make([]byte, 16)
	_, _ = rand.Read(salt)
	salted, err := pbkdf2.Key(sha256.New, password, salt, 1, sha256.Size)
	if err != nil {
		return "", err
	}
	key := func(name string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(name))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(key("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$1:%s$%s:%s", encode(salt), encode(stored[:]), encode(key("Server Key"))), nil
}
