package testenv

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// makeLoginsQuick stores a hash of the password that has one iteration instead of 4,096. With the
// race detector each iteration is so slow that tests would spend more time on logins than on
// their work. Password and protocol stay the same.
func makeLoginsQuick(ctx context.Context) error {
	verifier, err := verifierOf(admin.Config().Password)
	if err != nil {
		return err
	}
	_, err = admin.Exec(ctx, "alter role current_user password '"+verifier+"'")
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
