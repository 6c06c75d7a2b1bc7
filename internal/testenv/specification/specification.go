// Package specification signs and reads the bodies of the specification's provider, which most tests write.
package specification

import (
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// Provider is the specification's provider.
var Provider = providers.Named("provider")

// Where its deliveries arrive, and the header of its signatures.
var (
	Path            = Provider.Path()
	SignatureHeader = Provider.SignatureHeader()
)

// NewSecret returns a secret of the Provider. It panics if the text cannot be one.
func NewSecret(text string) providers.Secret {
	secret, err := Provider.NewSecret(text)
	if err != nil {
		panic(err)
	}
	return secret
}

// Secrets returns these secrets, all of the Provider.
func Secrets(texts ...string) providers.Secrets {
	out := providers.Secrets{}
	for _, text := range texts {
		out[Provider.Name()] = append(out[Provider.Name()], NewSecret(text))
	}
	return out
}

// Sign returns the signature of a body.
func Sign(secret providers.Secret, body []byte) string {
	return Provider.Sign(secret, "", body, time.Now()).Get(SignatureHeader)
}

// Parse decodes a body of the Provider.
func Parse(body []byte) (events.Event, error) { return Provider.Parse(body, "") }
