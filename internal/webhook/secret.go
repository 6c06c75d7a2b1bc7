package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync"
)

// Secret is a signing secret. It is always printed as [redacted].
//
// Its content is behind a pointer, because fmt does not follow a pointer inside a struct.
type Secret struct{ key *key }

type key struct {
	macs        sync.Pool // of hash.Hash, keyed
	fingerprint string
}

const redacted = "[redacted]"

// NewSecret wraps the secret's text.
func NewSecret(text string) Secret {
	s := Secret{&key{}}
	s.key.macs.New = func() any { return hmac.New(sha256.New, []byte(text)) }
	sum := s.mac([]byte("payfold key fingerprint"))
	s.key.fingerprint = hex.EncodeToString(sum[:8])
	return s
}

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Sign returns the lower-case hex HMAC-SHA256 of the body, as the provider sends it in the header
// provider-signature.
func (s Secret) Sign(body []byte) string {
	sum := s.mac(body)
	return hex.EncodeToString(sum[:])
}

// Fingerprint identifies the secret without revealing it.
func (s Secret) Fingerprint() string { return s.key.fingerprint }

func (s Secret) mac(body []byte) (sum [sha256.Size]byte) {
	mac := s.key.macs.Get().(hash.Hash)
	mac.Reset()
	mac.Write(body)
	mac.Sum(sum[:0])
	s.key.macs.Put(mac)
	return sum
}
