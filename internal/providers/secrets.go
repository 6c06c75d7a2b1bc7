package providers

import (
	"errors"

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
