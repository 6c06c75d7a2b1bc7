package endtoend

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

func TestAllFaultsOfAConfigurationAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	for program, faults := range map[string]map[string]string{
		"ingest": {
			"PROVIDER_WEBHOOK_SECRET": "", "LISTEN_ADDR": "nowhere", "ADMIN_ADDR": "x", "EMBEDDED_NATS_ADDR": "y",
			"MAX_BODY_BYTES": "many", "MAX_IN_FLIGHT": "0", "PUBLISH_TIMEOUT": "soon", "STREAM_REPLICAS": "9",
			"STREAM_PARTITIONS": "-1", "DUPLICATE_WINDOW": "1ms", "LOG_LEVEL": "loud", "LOG_FORMAT": "prose", "LOG_KEEP": "30d",
			"PROVIDER_WEBHOOK_SECRET_PREVIOUS_FILE": "/nonexistent",
		},
		"projector": {
			"ADMIN_ADDR": "x", "BATCH_SIZE": "0", "PROVIDER_MODE": "sometimes", "LOG_LEVEL": "loud", "CATALOGUE_FILE": "/nonexistent",
			"INVITE_REPOSITORY": "no-owner", "INVITES_PER_DAY": "0", "INVITE_REMOVE_ON_REVOKE": "perhaps", "INVITE_GITHUB_API_URL": "nowhere",
			"INVITE_GITHUB_APP_ID": "-1", "INVITE_GITHUB_APP_KEY_FILE": "/nonexistent",
		},
	} {
		var env []string
		for name, value := range faults {
			env = append(env, name+"="+value)
		}
		process := testenv.Start(t, program, append(env, "DATA_DIR="+t.TempDir()))
		require.Equal(t, 2, process.Exit(t), process.Output())
		for name := range faults {
			require.Contains(t, process.Output(), name)
		}
	}
}

func TestAnAddressInUseIsNamedWithItsVariable(t *testing.T) {
	t.Parallel()
	used, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = used.Close() })
	for variable, command := range map[string][]string{
		"ingest LISTEN_ADDR": nil, "ingest ADMIN_ADDR": nil, "ingest EMBEDDED_NATS_ADDR": nil,
		"projector ADMIN_ADDR": nil, "projector CONSOLE_ADDR": {"console"},
	} {
		t.Run(variable, func(t *testing.T) {
			t.Parallel()
			program, name, _ := strings.Cut(variable, " ")
			process := testenv.Start(t, program, []string{
				"DATA_DIR=" + t.TempDir(), "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0", "PROVIDER_WEBHOOK_SECRET=" + secret,
				name + "=" + used.Addr().String(),
			}, command...)
			require.Equal(t, 1, process.Exit(t), process.Output())
			require.Contains(t, process.Output(), name+": listen for ")
			require.Contains(t, process.Output(), used.Addr().String()+": bind: address already in use")
		})
	}
}

func TestAProjectorWhosePrivatePostgresCannotStartEnds(t *testing.T) {
	t.Parallel()
	process := testenv.Start(t, "projector", []string{"DATA_DIR=" + t.TempDir(), "ADMIN_ADDR=127.0.0.1:0", "PG_BIN=/nonexistent"})
	require.Equal(t, 1, process.Exit(t), process.Output())
	require.Contains(t, process.Output(), "PG_BIN is /nonexistent, which has no initdb and postgres")
}

func TestSecretsAreReadFromFilesAndRotateWithoutAGap(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(file, []byte("whsec_the_new_secret\n"), 0o600))
	ingest := testenv.Start(t, "ingest", []string{
		"DATA_DIR=" + t.TempDir(), "LISTEN_ADDR=127.0.0.1:0", "ADMIN_ADDR=127.0.0.1:0",
		"PROVIDER_WEBHOOK_SECRET_FILE=" + file, "PROVIDER_WEBHOOK_SECRET_PREVIOUS=short", "LOG_LEVEL=debug",
	})
	ingest.WaitFor(t, "shorter than 16 bytes")
	url := "http://" + attribute(ingest.WaitFor(t, `msg="receiving deliveries"`), "listen_addr") + "/api/payments/provider/webhook/"
	for i, test := range []struct {
		secret string
		status int
	}{{"whsec_the_new_secret", 200}, {"short", 200}, {"whsec_the_new_secret\n", 401}, {"", 401}} {
		provider := testenv.Provider{URL: url, Secret: test.secret, Client: http.DefaultClient}
		body := pack(fmt.Sprintf("evt_%d", i), "pay_1", "u_secret_user", 1)
		if test.status == http.StatusOK {
			_, err := provider.DeliverUntilAccepted(t.Context(), body)
			require.NoError(t, err)
			continue
		}
		status, _, err := provider.Deliver(t.Context(), body)
		require.NoError(t, err)
		require.Equal(t, test.status, status)
	}
	stop(t, ingest)
	for _, text := range []string{"whsec_the_new", "u_secret_user"} {
		require.NotContains(t, ingest.Output(), text, "no secret and no body is logged")
	}
}
