package cli_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/providerapi"
)

type ask struct {
	cli.APIFlags
	apis map[string]providerapi.Config
}

func (a *ask) Check(faults *cli.Faults) {
	a.apis = a.Take(faults)
	faults.Addf("and another fault")
}

// asked is what the flags say of APIs, and the faults.
func asked(args ...string) (map[string]providerapi.Config, string) {
	var grammar struct {
		Ask ask `cmd:"" default:"withargs"`
	}
	_, err := cli.Parse(&grammar, "program", "", args, io.Discard, io.Discard)
	return grammar.Ask.apis, err.Error()
}

func TestEachAPIThatIsAskedHasAKey(t *testing.T) {
	t.Parallel()
	apis, faults := asked("--stripe-api-key=rk_1", "--creem-api-key-file", fileOf(t, "creem_1\n"), "--creem-webhook-id=wh_1",
		"--creem-api-url=http://127.0.0.1:1", "--polar-api-url=https://sandbox-api.polar.sh")
	require.Equal(t, "and another fault", faults)
	require.Len(t, apis, 2)
	require.Equal(t, "wh_1", apis["creem"].WebhookID)
	require.Equal(t, "http://127.0.0.1:1", apis["creem"].URL)
	require.NotContains(t, fmt.Sprintf("%v %#v", apis, apis), "rk_1")
}

func TestAWrongKeyOrAddressIsAFaultThatDoesNotShowIt(t *testing.T) {
	t.Parallel()
	apis, faults := asked("--stripe-api-key=rk 1", "--paddle-api-key-file", fileOf(t, "a\nb"), "--polar-api-key=x", "--polar-api-key-file=y",
		"--creem-api-key-file", fileOf(t, ""), "--paddle-api-url=http://u:secret@example.com")
	require.Empty(t, apis)
	require.Equal(t, []string{
		"CREEM_API_KEY_FILE is empty",
		"PADDLE_API_KEY_FILE: a secret is one line of printable characters; this has more than one line",
		"PADDLE_API_URL: it is not an address like https://api.example.com",
		"POLAR_API_KEY and POLAR_API_KEY_FILE are both set",
		"STRIPE_API_KEY: a key has printable ASCII characters only, and no space",
		"and another fault",
	}, strings.Split(faults, "\n"))
}
