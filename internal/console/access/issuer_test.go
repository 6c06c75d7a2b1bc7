package access_test

import (
	"testing"

	"github.com/payfold/payfold/internal/console/access"
	issuers "github.com/payfold/payfold/internal/testenv/issuer"
)

const (
	consoleHost = "console.example.com"
	consoleURL  = "https://" + consoleHost
)

// issuer is an issuer whose console is not reached over a network.
type issuer struct {
	*issuers.Issuer
	t *testing.T
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	return &issuer{issuers.New(t, consoleURL), t}
}

// console is a console that knows its users from the issuer.
func (i *issuer) console(allowed []string) *world {
	i.t.Helper()
	secret := issuers.ClientSecret
	if i.Method == "none" {
		secret = ""
	}
	w := setup(i.t, access.Config{
		PublicURL: consoleURL,
		OIDC:      access.OIDC{Issuer: i.URL, ClientID: issuers.ClientID, ClientSecret: secret, Allowed: allowed},
	})
	i.Clock = w.clock.Now
	return w
}
