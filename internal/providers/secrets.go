package providers

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"log/slog"
	"sync"

	"github.com/payfold/payfold/internal/events"
)

// Secrets are the secrets of each provider, by its name; the current one first.
type Secrets map[string][]Secret

// The errors of Check.
var (
	ErrUnknownKey   = errors.New("no secret that was given has the fingerprint that the message names")
	ErrOtherKey     = errors.New("the signature holds, but under another key than the message names")
	ErrDoesNotMatch = errors.New("the signature does not hold")
)

// Check checks the signature of a message again, with the secrets of its provider.
func (s Secrets) Check(m events.Message) error {
	p, err := Named(m.Provider), ErrUnknownKey
	for _, secret := range s[m.Provider] {
		named := secret.Fingerprint() == m.KeyFingerprint
		holds := p != nil && p.Signed(secret, m)
		switch {
		case holds && named:
			return nil
		case holds:
			return ErrOtherKey
		case named:
			err = ErrDoesNotMatch
		}
	}
	return err
}

// Secret is a signing secret of one provider. It is always printed as [redacted].
//
// Its content is behind a pointer, because fmt does not follow a pointer inside a struct.
type Secret struct{ of *secret }

type secret struct {
	keys        [][]*key // of each of the provider's schemes
	fingerprint string
}

// key is one key of HMAC-SHA256.
type key struct{ macs sync.Pool } // of hash.Hash, keyed

const redacted = "[redacted]"

// NewSecret reads the text of a secret. The error says what is wrong with it, without a part of it.
func (p *Provider) NewSecret(text string) (Secret, error) {
	s := &secret{}
	for _, scheme := range p.schemes {
		var keys []*key
		for _, bytes := range scheme.keys(text) {
			keys = append(keys, newKey(bytes))
		}
		s.keys = append(s.keys, keys)
	}
	if len(s.keys[len(s.keys)-1]) == 0 {
		return Secret{}, fmt.Errorf("it is not a secret of %s: it must be whsec_ and base64, as the dashboard shows it", p.name)
	}
	sum := newKey([]byte(text)).mac("", []byte("payfold key fingerprint"))
	s.fingerprint = hex.EncodeToString(sum[:8])
	return Secret{s}, nil
}

func newKey(bytes []byte) *key {
	k := &key{}
	k.macs.New = func() any { return hmac.New(sha256.New, bytes) }
	return k
}

// Format implements fmt.Formatter, for every verb.
func (Secret) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// String implements fmt.Stringer.
func (Secret) String() string { return redacted }

func (Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Fingerprint identifies the secret without revealing it.
func (s Secret) Fingerprint() string { return s.of.fingerprint }

func (k *key) mac(before string, body []byte) (sum [sha256.Size]byte) {
	mac := k.macs.Get().(hash.Hash)
	mac.Reset()
	if before != "" {
		_, _ = io.WriteString(mac, before)
	}
	mac.Write(body)
	mac.Sum(sum[:0])
	k.macs.Put(mac)
	return sum
}
