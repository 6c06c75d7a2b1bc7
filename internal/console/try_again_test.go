package console_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTryAgainKeepsThePlaceInAList(t *testing.T) {
	t.Parallel()
	config, _ := shop(t)
	server := run(t, config)
	config.Tables.Close()
	answer, text := get(t, server, "/events?before=5&type=order.paid")
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
	require.Contains(t, text, `<a href="/events?before=5&amp;type=order.paid">Try again</a>`)
}
