package webhook_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/webhook"
)

func TestAConfigPrintsItsSecretsAsRedacted(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"%v", "%+v", "%#v"} {
		printed := fmt.Sprintf(format, webhook.Config{Secrets: specification.Secrets(current)})
		require.Contains(t, printed, "[redacted]", format)
		require.NotContains(t, printed, current, format)
	}
}
