package invitations

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// answering returns a client of a server that answers unlike GitHub, for example a proxy.
func answering(t *testing.T, handler http.HandlerFunc) *GitHub {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	api, err := url.Parse(server.URL)
	require.NoError(t, err)
	return NewGitHub(api, Token("token"), "acme/tool", "pull", time.Now)
}

func TestAWebPageInsteadOfA204IsNotAccess(t *testing.T) {
	t.Parallel()
	g := answering(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/invitations") {
			_, _ = w.Write([]byte("[]"))
			return
		}
		_, _ = w.Write([]byte("<html>log in"))
	})
	_, err := g.Look(t.Context(), "octo", nil)
	var found *problem
	require.ErrorAs(t, err, &found)
	require.Equal(t, unclear, found.kind)
}

func TestOfAnEndlessAnswerOnlyTheBeginningIsRead(t *testing.T) {
	t.Parallel()
	var written atomic.Int64
	const much = 256 << 20
	g := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		for block := make([]byte, 1<<20); written.Load() < much; written.Add(int64(len(block))) {
			if _, err := w.Write(block); err != nil {
				return
			}
		}
	})
	_, err := g.Look(t.Context(), "octo", nil)
	require.Error(t, err)
	require.Less(t, written.Load(), int64(much))
}

func TestAMessageIsMadeStorable(t *testing.T) {
	t.Parallel()
	g := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "/\xff"+strings.Repeat("x", 5000))
		w.WriteHeader(http.StatusFound)
	})
	_, err := g.Look(t.Context(), "octo", nil)
	var found *problem
	require.ErrorAs(t, err, &found)
	require.True(t, utf8.ValidString(found.message))
	require.Less(t, len(found.message), 2*maxMessage)
}

// The message is stored, and shown where names are masked.
func TestAnErrorOfTheNetworkDoesNotNameTheUser(t *testing.T) {
	t.Parallel()
	g := answering(t, func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
	_, err := g.Invite(t.Context(), "octo")
	require.ErrorContains(t, err, "PUT: ")
	require.NotContains(t, err.Error(), "octo")
}
