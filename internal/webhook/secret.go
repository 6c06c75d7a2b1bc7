package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// Secret is a signing secret. However it is printed, it reads [redacted].
//
// The text is behind a pointer: fmt does not follow one inside another struct.
type Secret struct{ text *string }

const redacted = "[redacted]"

// NewSecret wraps the secret's text.
func NewSecret(text string) Secret { return Secret{&text} }

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// String implements fmt.Stringer, for whoever calls it.
func (Secret) String() string { return redacted }

func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Sign returns the lower-case hex HMAC-SHA256 of the body: what the provider
// sends as provider-signature.
func (s Secret) Sign(body []byte) string { return hex.EncodeToString(s.mac(body)) }

// Fingerprint tells secrets apart without giving them away.
func (s Secret) Fingerprint() string {
	return hex.EncodeToString(s.mac([]byte("payfold key fingerprint"))[:8])
}

func (s Secret) mac(body []byte) []byte {
	mac := hmac.New(sha256.New, []byte(*s.text))
	mac.Write(body)
	return mac.Sum(nil)
}
