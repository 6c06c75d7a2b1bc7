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

// QuickLogins is m on a server whose password is checked with one iteration instead of
// thousands: the race detector makes each of them many times as dear, and a program
// that logs in a few times would spend more on that than on its work. The password,
// and how it is proven, stay the same.
func QuickLogins(m interface{ Run() int }) interface{ Run() int } { return quick{m} }

type quick struct{ tests interface{ Run() int } }

func (q quick) Run() int {
	if err := quicken(); err != nil {
		return fail(err)
	}
	return q.tests.Run()
}

func quicken() error {
	ctx, cancel := context.WithTimeout(context.Background(), wait.Patience)
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

// verifierOf is what PostgreSQL keeps of a password for SCRAM-SHA-256 (RFC 5802).
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
