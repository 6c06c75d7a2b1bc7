package cli_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) {
	for _, name := range []string{"NATS_URL", "NATS_CREDS", "NATS_STREAM", "DATA_DIR", "LOG_LEVEL", "LOG_FORMAT"} {
		_ = os.Unsetenv(name) // the environment of the tests may have it
	}
	os.Exit(m.Run())
}

// A process has one environment: these tests cannot be parallel.

func TestTheEnvironmentWinsOverDefaults(t *testing.T) {
	t.Setenv("CLI_TEST_COUNT", "7")
	t.Setenv("CLI_TEST_SIZE", "9")
	t.Setenv("CLI_TEST_WAIT", "5m")
	t.Setenv("NATS_STREAM", "OTHER")
	w := setup(t)
	_, err := w.parse()
	require.NoError(t, err)
	require.Equal(t, 7, w.grammar.Serve.Count)
	require.EqualValues(t, 9, w.grammar.Serve.Size)
	require.Equal(t, 5*time.Minute, w.grammar.Serve.Wait)
	require.Equal(t, "OTHER", w.grammar.Serve.NATSStream)
}

func TestAVariableThatIsEmptyIsUnset(t *testing.T) {
	t.Setenv("CLI_TEST_COUNT", "")
	t.Setenv("NATS_STREAM", "")
	w := setup(t)
	_, err := w.parse()
	require.NoError(t, err)
	require.Equal(t, 3, w.grammar.Serve.Count)
	require.Equal(t, "PAYMENTS", w.grammar.Serve.NATSStream)
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	t.Setenv("CLI_TEST_COUNT", "7")
	t.Setenv("CLI_TEST_WAIT", "5m")
	t.Setenv("NATS_STREAM", "OTHER")
	w := setup(t)
	_, err := w.parse("--count=8", "--nats-stream", "MINE")
	require.NoError(t, err)
	require.Equal(t, 8, w.grammar.Serve.Count)
	require.Equal(t, 5*time.Minute, w.grammar.Serve.Wait)
	require.Equal(t, "MINE", w.grammar.Serve.NATSStream)
}

func TestFaultsOfTheEnvironmentAreReportedAtOnceToo(t *testing.T) {
	t.Setenv("CLI_TEST_COUNT", "many")
	t.Setenv("CLI_TEST_SIZE", "1e6")
	t.Setenv("CLI_TEST_WAIT", "0s")
	t.Setenv("LOG_LEVEL", "loud")
	require.ElementsMatch(t, []string{
		`--count (CLI_TEST_COUNT): "many" is not a whole number`,
		`--size (CLI_TEST_SIZE): "1e6" is not a whole number`,
		`CLI_TEST_WAIT is 0s, must be above 0`,
		`LOG_LEVEL is "loud", must be debug, info, warn or error`,
		`--bare: "x" is not a whole number`,
	}, setup(t).faults("--bare=x"))
}
