package reconcile_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/testenv/payapi"
)

type (
	object = map[string]any
	made   = payapi.Made
)

// server is the API of a provider, and how it writes its objects.
type server struct {
	*payapi.Server
	*payapi.Dialect

	meanwhile func(r *http.Request) // called before each answer
	fault     func(w http.ResponseWriter, r *http.Request) (answered bool)
}

func newServer(t *testing.T, provider string) *server {
	t.Helper()
	s := &server{Server: payapi.New(t, provider), Dialect: payapi.Dialects[provider]}
	s.Before = func(_ int, w http.ResponseWriter, r *http.Request) bool {
		if s.fault != nil && s.fault(w, r) {
			return true
		}
		if s.meanwhile != nil {
			s.meanwhile(r)
		}
		return false
	}
	return s
}

func (s *server) client(t *testing.T) *providerapi.Client {
	t.Helper()
	secret, err := providerapi.NewKey(payapi.Key)
	require.NoError(t, err)
	client, err := providerapi.New(providerapi.Config{
		Provider: s.Provider, URL: s.URL, Key: secret,
		RetryWait: time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// isFind reports whether a request is for one object.
func isFind(r *http.Request) bool {
	_, _, isOne := payapi.CutID(r.URL.Path, "/v1/invoices", "/v1/subscriptions", "/v1/refunds", "/v1/orders")
	return isOne && !strings.HasSuffix(r.URL.Path, "/search") || r.URL.Query().Has("id") ||
		r.URL.Query().Has("transaction_id")
}
