package console

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/verify"
	"github.com/payfold/payfold/internal/webhook"
)

func TestASignatureIsCheckedWithTheSecretThatMadeIt(t *testing.T) {
	t.Parallel()
	body := []byte(`{"id":"e1"}`)
	first, second, unknown := webhook.NewSecret("whsec_first"), webhook.NewSecret("whsec_second"), webhook.NewSecret("whsec_unknown")
	c := &Console{Config: Config{Signers: []verify.Signer{first, second}}}
	for name, test := range map[string]struct {
		key       webhook.Secret
		signature string
		said      string
		wrong     bool
	}{
		"right":             {second, second.Sign(body), "it is that of this body", false},
		"forged":            {second, first.Sign(body), "it is NOT that of this body", true},
		"an unknown secret": {unknown, unknown.Sign(body), "cannot be checked here", false},
	} {
		said, wrong := c.checkSignature(events.Message{ID: "e1", Body: body, Signature: test.signature, KeyFingerprint: test.key.Fingerprint()})
		require.Contains(t, said, test.said, name)
		require.Equal(t, test.wrong, wrong, name)
	}
}
