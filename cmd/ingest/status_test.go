package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

func TestAnotherProgramIsNotTakenForAnIngestThatIsReady(t *testing.T) {
	t.Parallel()
	for _, answer := range []string{"", "ok", "null", "{}", `{"status":"up"}`} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(server.Close)
		var out bytes.Buffer
		command := statusCommand{AdminAddr: server.Listener.Addr().String()}
		require.ErrorContains(t, command.Run(t.Context(), cli.Streams{Out: &out, Err: &out}), "is not ingest", answer)
		require.Empty(t, out.String())
	}
}
