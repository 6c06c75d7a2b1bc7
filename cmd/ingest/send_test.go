package main

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/testenv/specification"
)

func TestASalvagedEventThatIsRefusedIsNamedAndTheRestIsSent(t *testing.T) {
	t.Parallel()
	var sent []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if sent = append(sent, string(body)); string(body) == "first" {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "events.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(`{"seq":1,"body":"first"}`+"\n"+`{"seq":2,"body":"second"}`+"\n"+
		`{"seq":3,"headers":{"Payfold-Body":"1"},"body":"sealed"}`+"\n"), 0o600))
	command := sendCommand{addressFlag: addressFlag{URL: server.URL}, Provider: "provider", Salvaged: true, Files: []string{file}}
	command.secrets = specification.Secrets("whsec_0123456789abcdef")
	var out, said bytes.Buffer
	require.Equal(t, cli.Status(cli.ExitFailed), command.Run(t.Context(), cli.Streams{Out: &out, Err: &said}))
	require.Equal(t, []string{"first", "second"}, sent)
	require.Contains(t, said.String(), "seq 1: answered 503")
	require.Contains(t, said.String(), "seq 3: the body is stored in a form that this build cannot read")
	require.Contains(t, said.String(), "not accepted: 2 events")
}
