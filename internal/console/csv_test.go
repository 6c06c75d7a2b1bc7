package console

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
)

// open lets everybody look.
type open struct{}

func (open) Protect(pages http.Handler) http.Handler { return pages }

func (open) HasSession(context.Context) bool { return false }

func TestAWrongAddressOfADownloadWaitsForNoOther(t *testing.T) {
	t.Parallel()
	c := New(Config{Tables: &store.Store{}, Guard: open{}, Logger: testenv.Logger(t)})
	c.downloads <- struct{}{} // another one runs
	out := httptest.NewRecorder()
	c.Handler().ServeHTTP(out, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/events?format=csv&nothing=1", nil))
	require.Equal(t, http.StatusBadRequest, out.Code)
}
