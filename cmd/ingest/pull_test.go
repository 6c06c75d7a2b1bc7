package main

import (
	"bytes"
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/testenv/payapi"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// runIngest runs a command, and returns its exit status, its results and what else it said.
func runIngest(ctx context.Context, args ...string) (status int, out, said string) {
	var stdout, stderr bytes.Buffer
	status = cli.Main(ctx, &grammar{}, "ingest", "", args, cli.Streams{Out: &stdout, Err: &stderr})
	return status, stdout.String(), stderr.String()
}

// freeAddress is an address of this machine at which nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// missed starts the API of a provider that has events.
func missed(t *testing.T, provider string, count int) *payapi.Server {
	t.Helper()
	api := payapi.New(t, provider)
	for i := range count {
		api.Add(payapi.NewEvent(provider, i, time.Now().Add(time.Duration(i-count)*time.Second)))
	}
	return api
}

func TestPullAloneIsACompleteReceiver(t *testing.T) {
	t.Parallel()
	api := missed(t, "creem", 3)
	args := []string{
		"pull", "creem", "--data-dir", t.TempDir(), "--admin-addr", freeAddress(t), "--creem-api-key", payapi.Key,
		"--creem-api-url", api.URL, "--creem-webhook-id", payapi.WebhookID,
	}
	status, out, said := runIngest(t.Context(), args...)
	require.Zero(t, status, said)
	require.Contains(t, out, "creem: 3 seen, 3 appended, 0 already there, 0 refused; from ")

	ctx, stop := context.WithCancel(t.Context())
	type end struct {
		status int
		said   string
	}
	ended := make(chan end, 1)
	go func() {
		status, _, said := runIngest(ctx, append(args, "--every", "1s")...)
		ended <- end{status, said}
	}()
	api.Add(payapi.NewEvent("creem", 100, time.Now()))
	wait.Until(t, func() bool { return len(api.Acknowledged()) == 4 })
	stop()
	got := <-ended
	require.Zero(t, got.status, got.said)
	status, out, said = runIngest(t.Context(), args...)
	require.Zero(t, status, said)
	require.Contains(t, out, "creem: 0 seen, ")
}

func TestARepeatedPullSaysAFaultThatRepeatsOnce(t *testing.T) {
	t.Parallel()
	api := missed(t, "stripe", 1)
	api.Before = func(n int, w http.ResponseWriter, _ *http.Request) bool {
		if n < 2 {
			http.Error(w, "no", http.StatusForbidden)
		}
		return n < 2
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		_, _, said := runIngest(ctx, "pull", "stripe", "--data-dir", t.TempDir(), "--admin-addr", freeAddress(t),
			"--stripe-api-key", payapi.Key, "--stripe-api-url", api.URL, "--every", "1s")
		ended <- said
	}()
	wait.Until(t, func() bool { return api.Asked() >= 4 }) // two that are refused, and two that are answered
	stop()
	require.Equal(t, 1, strings.Count(<-ended, "could not be pulled"))
}

// serving starts an ingest, and waits until it is healthy. stop returns what it has said; the end of the test stops it, too.
func serving(t *testing.T, args ...string) (stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan string, 1)
	go func() {
		_, _, said := runIngest(ctx, append([]string{
			"serve", "--listen-addr", "127.0.0.1:0", "--archive-url", "none", "--provider-webhook-secret", "whsec_0123456789abcdef",
		}, args...)...)
		ended <- said
	}()
	stop = sync.OnceValue(func() string {
		cancel()
		return <-ended
	})
	t.Cleanup(func() { stop() })
	admin := args[slices.Index(args, "--admin-addr")+1]
	wait.Until(t, func() bool {
		status, _, _ := runIngest(t.Context(), "healthcheck", "--admin-addr", admin)
		return status == 0
	})
	return stop
}

func TestPullLetsTheRunningIngestPull(t *testing.T) {
	t.Parallel()
	api, admin, dir := missed(t, "stripe", 250), freeAddress(t), t.TempDir()
	stop := serving(t, "--data-dir", dir, "--admin-addr", admin, "--pull-interval", "0", "--stripe-api-key", payapi.Key, "--stripe-api-url", api.URL)
	pull := func(args ...string) (int, string, string) {
		return runIngest(t.Context(), append([]string{"pull", "--data-dir", dir, "--admin-addr", admin}, args...)...)
	}
	status, out, said := pull("stripe", "--since", "1h")
	require.Zero(t, status, said)
	require.Contains(t, out, "stripe: 250 seen, 250 appended, 0 already there, 0 refused; from ")
	status, out, said = pull("stripe")
	require.Zero(t, status, said)
	require.Contains(t, out, "stripe: 250 seen, 0 appended, 250 already there, 0 refused; from ")
	status, _, said = pull("paddle")
	require.Equal(t, cli.ExitFailed, status)
	require.Contains(t, said, `the running ingest has no API key of "paddle"`)
	require.NotContains(t, stop(), payapi.Key)
}

// An API that accepts a request and does not answer it: the command says what it waits for, and ends by Ctrl-C, also if the
// running ingest pulls for it.
func TestAnAPIThatDoesNotAnswerIsSaid(t *testing.T) {
	t.Parallel()
	api, asked := missed(t, "stripe", 1), make(chan struct{})
	api.Before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		asked <- struct{}{}
		<-r.Context().Done()
		return true
	}
	key := []string{"--stripe-api-key", payapi.Key, "--stripe-api-url", api.URL}
	for name, begin := range map[string]func(t *testing.T, dir, admin string){
		"without an ingest": func(*testing.T, string, string) {},
		"beside an ingest": func(t *testing.T, dir, admin string) {
			serving(t, append([]string{"--data-dir", dir, "--admin-addr", admin, "--pull-interval", "0"}, key...)...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, admin := t.TempDir(), freeAddress(t)
			begin(t, dir, admin)
			ctx, stop := context.WithCancel(t.Context())
			var said wait.Buffer
			ended := make(chan int, 1)
			go func() {
				ended <- cli.Main(ctx, &grammar{}, "ingest", "", append([]string{"pull", "stripe", "--data-dir", dir, "--admin-addr", admin}, key...),
					cli.Streams{Out: &said, Err: &said})
			}()
			<-asked
			wait.Until(t, func() bool {
				return strings.Contains(said.String(), "stripe: GET /v1/events has had no answer for 5s\n")
			})
			stop()
			require.NotZero(t, <-ended)
		})
	}
}

func TestAPullThatCannotBeDoneSaysWhatToDo(t *testing.T) {
	t.Parallel()
	api := missed(t, "polar", 1)
	for name, c := range map[string]struct {
		args   []string
		status int
		said   string
	}{
		"a provider without an API": {[]string{"dodo"}, cli.ExitUsage, `NAME is "dodo", must be one of creem, paddle, polar, stripe: no other provider has a list of its events`},
		"no key":                    {[]string{"polar"}, cli.ExitFailed, "POLAR_API_KEY is missing"},
		"a wrong key":               {[]string{"polar", "--polar-api-key=wrong_key", "--polar-api-url", api.URL}, cli.ExitFailed, "POLAR_API_KEY is wrong, revoked"},
		"a time to come":            {[]string{"polar", "--since", "2100-01-01T00:00:00Z"}, cli.ExitUsage, "--since: "},
		"nothing to pull":           {[]string{"polar", "--pull-since", "2100-01-01T00:00:00Z"}, cli.ExitUsage, "PULL_SINCE is 2100-01-01T00:00:00Z, which is in the future"},
		"no endpoint":               {[]string{"creem", "--creem-api-key=x"}, cli.ExitUsage, "CREEM_WEBHOOK_ID is missing"},
		"too often":                 {[]string{"polar", "--every", "1ms"}, cli.ExitUsage, "--every is 1ms, must be at least 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, _, said := runIngest(t.Context(), append([]string{"pull", "--data-dir", t.TempDir(), "--admin-addr", freeAddress(t)}, c.args...)...)
			require.Equal(t, c.status, status, said)
			require.Contains(t, said, c.said)
			require.NotContains(t, said, "wrong_key")
		})
	}
}
