//go:build stack

package endtoend

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// TestTheStackOfOneNode runs the commands of docs/deploy.md about compose.one.yaml. A delivery through the proxy reaches
// its row, also after a kill of ingest, and the console and Prometheus answer.
func TestTheStackOfOneNode(t *testing.T) {
	t.Setenv("COMPOSE_PROFILES", "prometheus")
	s := startStack(t)
	s.blocks = s.ofOneNode
	s.commands(t, "echo COMPOSE_FILE")
	s.awaitHealthy(t)
	s.awaitBalance(t, func() { s.commands(t, "docker compose exec -T ingest ingest send") }, "u_1", "200")

	provider := s.provider(t)
	deliver := func(id, payment string) func() {
		return func() {
			_, err := provider.DeliverUntilAccepted(t.Context(), pack(id, payment, "u_2", 10))
			require.NoError(t, err)
		}
	}
	s.awaitBalance(t, deliver("evt_2", "pay_2"), "u_2", "10")
	s.kill(t, "ingest")
	s.awaitBalance(t, deliver("evt_3", "pay_3"), "u_2", "20")
	s.awaitHealthy(t)

	require.Contains(t, s.console(t), "evt_first_1")
	wait.Until(t, func() bool {
		return strings.Contains(s.get("http://127.0.0.1:"+os.Getenv("PROMETHEUS_PORT")+"/api/v1/query?query=sum(up)"), `,"2"]`)
	}, "Prometheus does not reach both programs")
	s.commands(t, "docker compose exec -T projector projector verify")
	require.Empty(t, s.blocks, "the section has commands that were not run")
}

// awaitBalance waits until a user has these credits, after act.
func (s *stack) awaitBalance(t *testing.T, act func(), user, balance string) {
	t.Helper()
	act()
	wait.Until(t, func() bool {
		out, err := s.query("postgres-1", "select balance from portal.credits where user_id = '"+user+"'")
		return err == nil && out == balance
	}, "%s does not have %s credits", user, balance)
}

// console returns the newest events, as the console shows them to who has its token.
func (s *stack) console(t *testing.T) string {
	t.Helper()
	token, err := os.ReadFile(filepath.Join(s.folder(), "secrets", "console_token"))
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1:"+os.Getenv("CONSOLE_PORT")+"/events", nil)
	require.NoError(t, err)
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Accept", "application/json")
	response, err := s.admin.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	require.Equal(t, http.StatusOK, response.StatusCode)
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return string(text)
}
