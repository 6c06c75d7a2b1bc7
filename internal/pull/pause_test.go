package pull

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providerapi"
)

func TestTheWaitThatTheAPIAsksForIsKeptBetweenPulls(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		interval time.Duration
		status   int
		asked    string
		pause    time.Duration
	}{
		"a long wait":       {time.Second, http.StatusTooManyRequests, "3600", time.Hour},
		"less than usually": {5 * time.Minute, http.StatusTooManyRequests, "301", 301 * time.Second},
		"no wait":           {5 * time.Minute, http.StatusForbidden, "", time.Minute},
		"often":             {5 * time.Second, http.StatusForbidden, "", 5 * time.Second},
		"no fault":          {5 * time.Minute, http.StatusOK, "", 5 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", c.asked)
				w.WriteHeader(c.status)
				_, _ = w.Write([]byte(`{}`))
			}))
			defer server.Close()
			api, err := providerapi.New(providerapi.Config{Provider: "stripe", URL: server.URL, RetryWait: time.Millisecond})
			require.NoError(t, err)
			defer api.Close()
			p := New(Config{API: api, Interval: c.interval}, nil)
			require.Equal(t, c.pause, p.pause(api.Get(t.Context(), "/v1/events", nil, new(any))))
		})
	}
}
