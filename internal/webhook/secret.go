package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
)

// Secret is a signing secret. However it is printed, it reads [redacted].
type Secret struct{ text string }

const redacted = "[redacted]"

// NewSecret wraps the secret's text.
func NewSecret(text string) Secret { return Secret{text} }

func (Secret) String() string               { return redacted }
func (Secret) GoString() string             { return redacted }
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
	mac := hmac.New(sha256.New, []byte(s.text))
	mac.Write(body)
	return mac.Sum(nil)
}
