package archive_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv/objectstore"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// storeWorld is a log, and an object store for its archive.
type storeWorld struct {
	*world
	*objectstore.Server
}

func setupStore(t *testing.T) storeWorld {
	t.Helper()
	return storeWorld{setup(t), objectstore.New(t)}
}

// place replaces that of the world.
func (s storeWorld) place(t testing.TB) storage.Place {
	t.Helper()
	return s.Place(t, "shop/log")
}

func TestAnObjectStoreHoldsTheLogByteByByte(t *testing.T) {
	t.Parallel()
	s := setupStore(t)
	place := s.place(t)
	require.Equal(t, "s3://archives/shop/log/", place.String())
	archiver := s.archiver(place)
	for i := range 30 {
		s.fill(t, i, i)
		require.NoError(t, archiver.Step(t.Context()))
	}
	opened := s.requireWhole(t, place)
	require.Less(t, len(opened.Segments()), 15, "merged")
	names, err := place.List(t.Context(), s.id(t))
	require.NoError(t, err)
	require.Len(t, names, len(opened.Segments()))
	require.NoError(t, s.archiver(place).Step(t.Context()))
	logs, err := archive.Logs(t.Context(), place)
	require.NoError(t, err)
	require.Equal(t, []string{s.id(t)}, logs)
}

// Each fault passes, the archive goes on and is whole, and no error is logged.
func TestAnObjectStoreThatMisbehavesForAWhile(t *testing.T) {
	t.Parallel()
	for name, how := range map[string]objectstore.Fault{
		"it denies": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusForbidden)
		},
		"it is overloaded": func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			w.WriteHeader(http.StatusServiceUnavailable)
		},
		"its answers to writes are lost": func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			if r.Method == http.MethodPut {
				serve.ServeHTTP(httptest.NewRecorder(), r)
				w.WriteHeader(http.StatusInternalServerError)
				return
			}
			serve.ServeHTTP(w, r)
		},
		"it lists nothing": func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			if r.Method == http.MethodGet && r.URL.Query().Has("prefix") {
				w.Header().Set("Content-Type", "application/xml")
				_, _ = io.WriteString(w, `<?xml version="1.0"?><ListBucketResult><Name>archives</Name><IsTruncated>false</IsTruncated></ListBucketResult>`)
				return
			}
			serve.ServeHTTP(w, r)
		},
		"it does not say how long an object is": func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			if r.Method == http.MethodHead {
				answer := httptest.NewRecorder()
				serve.ServeHTTP(answer, r)
				maps.Copy(w.Header(), answer.Header())
				w.Header().Del("Content-Length")
				w.WriteHeader(answer.Code)
				return
			}
			serve.ServeHTTP(w, r)
		},
		"it cuts what it sends": func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
			if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, ".seg") {
				answer := httptest.NewRecorder()
				serve.ServeHTTP(answer, r)
				body := answer.Body.Bytes()
				w.WriteHeader(answer.Code)
				_, _ = w.Write(body[:len(body)/2])
				return
			}
			serve.ServeHTTP(w, r)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := setupStore(t)
			s.fill(t, 1, 20)
			require.NoError(t, s.archiver(s.place(t)).Step(t.Context()))
			s.fill(t, 21, 40)
			s.Misbehave(how)
			archiver := s.archiver(s.place(t))
			stop := run(t, archiver)
			wait.Until(t, func() bool { return strings.Contains(s.logged(), "deliveries are not affected") || s.archived(t) })
			s.Misbehave(nil)
			s.fill(t, 41, 60)
			wait.Until(t, func() bool { return s.open(t, s.place(t)).Last() == 60 })
			stop()
			s.requireWhole(t, s.place(t))
			require.NotContains(t, s.logged(), "level=ERROR")
		})
	}
}

// archived reports whether 40 messages are in the archive, although the store misbehaves.
func (s storeWorld) archived(t *testing.T) bool {
	opened, err := archive.Open(t.Context(), s.place(t), s.id(t))
	return err == nil && opened.Last() == 40
}

// Without the condition, an archiver that was frozen could replace a segment by a shorter one.
func TestAnObjectStoreThatOverwritesIsNotUsed(t *testing.T) {
	t.Parallel()
	s := setupStore(t)
	s.fill(t, 1, 3)
	s.Misbehave(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		r.Header.Del("If-None-Match")
		serve.ServeHTTP(w, r)
	})
	archiver := s.archiver(s.place(t))
	require.ErrorContains(t, archiver.Step(t.Context()), "ignores the condition If-None-Match")
	s.fill(t, 4, 30)
	require.Error(t, archiver.Step(t.Context()))
	require.EqualValues(t, 3, s.open(t, s.place(t)).Last())
}

// again is a place where something happens before an object is written a second time.
type again struct {
	storage.Place
	written map[string]bool
	happens func()
}

func (a *again) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	return a.Place.Create(ctx, name, func(to io.Writer) error {
		err := write(to)
		if happens := a.happens; a.written[name] && happens != nil {
			a.happens = nil
			happens()
		}
		a.written[name] = true
		return err
	})
}

// Another archiver merges and removes the segment that proves the store, so that its name is free.
func TestAMergeOfAnotherArchiverProvesNothingOfTheStore(t *testing.T) {
	t.Parallel()
	s := setupStore(t)
	other := s.archiver(s.place(t))
	for i := range 7 {
		s.fill(t, i, i)
		require.NoError(t, other.Step(t.Context()))
	}
	s.fill(t, 7, 7)
	merged := false
	starting := s.archiver(&again{s.place(t), map[string]bool{}, func() {
		s.fill(t, 8, 8)
		require.NoError(t, other.Step(t.Context()))
		require.Len(t, s.open(t, s.place(t)).Segments(), 1)
		merged = true
	}})
	require.NoError(t, starting.Step(t.Context()))
	require.True(t, merged)
	names, err := s.place(t).List(t.Context(), s.id(t))
	require.NoError(t, err)
	require.Len(t, names, 1, "what was written again is removed")
	s.requireWhole(t, s.place(t))

	s.Misbehave(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		r.Header.Del("If-None-Match")
		serve.ServeHTTP(w, r)
	})
	s.fill(t, 9, 9)
	require.ErrorContains(t, starting.Step(t.Context()), "ignores the condition If-None-Match", "it is still to be proven")
}

// A slow store delays the archive alone: every request has an end.
func TestARequestToAnObjectStoreEndsWithItsContext(t *testing.T) {
	t.Parallel()
	s := setupStore(t)
	s.fill(t, 1, 5)
	asked := make(chan struct{}, 10)
	s.Misbehave(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
		asked <- struct{}{}
		<-r.Context().Done()
	})
	archiver := s.archiver(s.place(t))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- archiver.Run(ctx) }()
	<-asked
	stop()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(wait.Timeout):
		require.Fail(t, "it waits for ever")
	}
}
