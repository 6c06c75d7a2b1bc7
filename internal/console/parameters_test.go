package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnUnknownParameterIsAnError(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	for _, path := range append(addresses(t, server), "/customers", "/payments", "/subscriptions", "/measures?format=csv", "/invitations?format=csv") {
		separator := "?"
		if strings.Contains(path, "?") {
			separator = "&"
		}
		answer, text := get(t, server, path+separator+"befor=2026-01-31") // not before
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, path)
		require.Contains(t, text, "this page has no parameter befor", path)
	}
	for _, path := range []string{"/invitations?status=past_due", "/customers?status=failed", "/measures?format=xml", "/invitations?format=xml"} {
		answer, text := get(t, server, path)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, path)
		require.Contains(t, text, " is one of ", path)
	}
}
