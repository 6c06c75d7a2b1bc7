package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/testenv/specification"
)

func TestASignatureIsCheckedWithTheSecretThatMadeIt(t *testing.T) {
	t.Parallel()
	body := []byte(`{"id":"e1"}`)
	first, second, unknown := specification.NewSecret("whsec_first"), specification.NewSecret("whsec_second"), specification.NewSecret("whsec_unknown")
	c := &Console{Config: Config{Secrets: providers.Secrets{"provider": {first, second}}}}
	for name, test := range map[string]struct {
		key       providers.Secret
		signature string
		said      string
		wrong     bool
	}{
		"right":             {second, specification.Sign(second, body), "it is that of this body", false},
		"forged":            {second, specification.Sign(first, body), "it is NOT that of this body", true},
		"an unknown secret": {unknown, specification.Sign(unknown, body), "cannot be checked here", false},
	} {
		said, wrong := c.checkSignature(events.Message{Provider: "provider", ID: "e1", Body: body, Signature: test.signature, KeyFingerprint: test.key.Fingerprint()})
		require.Contains(t, said, test.said, name)
		require.Equal(t, test.wrong, wrong, name)
	}
}

// The facts of a payment have the name of its GitHub user, too.
func TestNamesInFactsAreMasked(t *testing.T) {
	t.Parallel()
	masked := string(maskNames([]byte(`{"github_username":"octocat","facts":[{"event":"e1","github":"hubot","user":"u1"}]}`)))
	require.Equal(t, `{"github_username":"o•••","facts":[{"event":"e1","github":"h•••","user":"u1"}]}`, masked)
}
