package ping_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/ping"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// service is what receives pings.
type service struct {
	url   string
	pings chan string // method, path with query, and body
}

func newService(t *testing.T, answer http.Handler) *service {
	t.Helper()
	s := &service{pings: make(chan string, 1000)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer.ServeHTTP(w, r)
		s.pings <- fmt.Sprintf("%s %s %s", r.Method, r.URL.RequestURI(), body)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

var fine = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })

// run runs a pinger that checks again at once.
func run(ctx context.Context, t *testing.T, tables *store.Store, address string, logger *slog.Logger, wrong func() ([]string, error)) (stop func()) {
	t.Helper()
	url, err := ping.ParseURL(address)
	require.NoError(t, err)
	pinger := ping.New(ping.Config{
		URL: url, Tables: tables, Logger: logger, Interval: time.Millisecond,
		Wrong: func(context.Context) ([]string, error) { return wrong() },
	})
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- pinger.Run(ctx) }()
	var stopped atomic.Bool
	stop = func() {
		if !stopped.Swap(true) {
			cancel()
			require.NoError(t, <-ended)
		}
	}
	t.Cleanup(stop)
	return stop
}

func TestAServiceIsToldThatAllIsWellOrWhatIsWrongForFiveChecks(t *testing.T) {
	t.Parallel()
	ctx, tables := fixture.Tables(t)
	s := newService(t, fine)
	check := 0
	run(ctx, t, tables, s.url+"/check?create=1", testenv.Logger(t), func() ([]string, error) {
		check++
		switch {
		case check >= 2 && check <= 5: // soon over
			return []string{"A restart."}, nil
		case check >= 7 && check <= 11:
			return []string{"The disk is full.", "The tables are behind."}, nil
		case check == 12:
			return nil, errors.New("no answer")
		}
		return nil, nil
	})
	for i, want := range []string{
		"POST /check?create=1 All is well.",
		"POST /check?create=1 All is well.",
		"POST /check/fail?create=1 The disk is full.\nThe tables are behind.",
		"POST /check/fail?create=1 The state of the tables is not known: no answer.",
		"POST /check?create=1 All is well.",
	} {
		require.Equal(t, want, <-s.pings, i)
	}
}

func TestOneOfSeveralProcessesPingsUntilItEnds(t *testing.T) {
	t.Parallel()
	ctx, tables := fixture.Tables(t)
	s := newService(t, fine)
	well := func() ([]string, error) { return nil, nil }
	stops := map[string]func(){}
	for _, name := range []string{"a", "b"} {
		stops[name] = run(ctx, t, tables, s.url+"/"+name, testenv.Logger(t), well)
	}
	first := <-s.pings
	for range 50 {
		require.Equal(t, first, <-s.pings)
	}
	leader, other := "a", "b"
	if strings.Contains(first, "/b ") {
		leader, other = other, leader
	}
	stops[leader]()
	wait.Until(t, func() bool { return strings.Contains(<-s.pings, "/"+other+" ") })
}

func TestALeaderWhoseSessionEndsLeadsAgain(t *testing.T) {
	t.Parallel()
	ctx, tables := fixture.Tables(t)
	s := newService(t, fine)
	run(ctx, t, tables, s.url, testenv.Logger(t), func() ([]string, error) { return nil, nil })
	<-s.pings
	var ended int
	wait.Until(t, func() bool {
		err := tables.Pool().QueryRow(ctx, `select count(pg_terminate_backend(pid)) from pg_locks
			where locktype = 'advisory' and granted and database = (select oid from pg_database where datname = current_database())`).Scan(&ended)
		return err == nil && ended == 1
	})
	for range cap(s.pings) { // more than can have come before
		<-s.pings
	}
}

func TestAFaultOfTheServiceIsLoggedOnceWithoutTheAddress(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]http.HandlerFunc{
		"the answer is 500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"the answer is 302": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		},
		"no answer: EOF": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, tables := fixture.Tables(t)
			s := newService(t, answer)
			var checks atomic.Int64
			var logged bytes.Buffer
			stop := run(ctx, t, tables, s.url+"/5ecret", slog.New(slog.NewTextHandler(&logged, nil)), func() ([]string, error) {
				checks.Add(1)
				return nil, nil
			})
			wait.Until(t, func() bool { return checks.Load() > 5 })
			stop()
			require.Equal(t, 1, strings.Count(logged.String(), "PING_URL is not pinged"), logged.String())
			require.Contains(t, logged.String(), name)
			require.NotContains(t, logged.String(), "5ecret")
		})
	}
}

func TestWithoutAnAddressNothingRuns(t *testing.T) {
	t.Parallel()
	require.NoError(t, ping.New(ping.Config{}).Run(t.Context()))
}

func TestAnAddressIsHTTPAndPrintsRedacted(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "hc-ping.com/5ecret", "ftp://host/5ecret", "https:///5ecret", "https://host:port/5ecret", "\x00"} {
		_, err := ping.ParseURL(text)
		require.EqualError(t, err, "is not an http(s) address", text)
	}
	url, err := ping.ParseURL("https://hc-ping.com/5ecret")
	require.NoError(t, err)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		require.NotContains(t, fmt.Sprintf(format, struct{ URL ping.URL }{url}), "5ecret")
	}
}
