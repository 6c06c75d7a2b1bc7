package archive_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// store is an object store, and a proxy before it that a test makes misbehave.
type store struct {
	*world
	endpoint string

	mu     sync.Mutex
	faulty func(w http.ResponseWriter, r *http.Request, serve http.Handler) // nil: the proxy does nothing
}

const bucketName = "archives"

// setupStore starts both. Credentials are those of the environment, as everywhere.
func setupStore(t *testing.T) *store {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_REGION", "us-east-1")
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket(bucketName))
	fake := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(fake.Close)
	target, err := url.Parse(fake.URL)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	forward.Transport = transport
	s := &store{world: setup(t)}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		faulty := s.faulty
		s.mu.Unlock()
		if faulty == nil {
			forward.ServeHTTP(w, r)
			return
		}
		faulty(w, r, forward)
	}))
	t.Cleanup(proxy.Close)
	s.endpoint = proxy.URL
	return s
}

func (s *store) misbehave(how func(w http.ResponseWriter, r *http.Request, serve http.Handler)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faulty = how
}

func (s *store) place(t testing.TB) archive.Place {
	t.Helper()
	place, err := archive.Settings{URL: "s3://" + bucketName + "/shop/log", S3Endpoint: s.endpoint}.Place()
	require.NoError(t, err)
	t.Cleanup(func() { archive.CloseIdle(place) })
	return place
}

func TestAnObjectStoreHoldsTheLogByteByByte(t *testing.T) {
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

func TestASegmentInAnObjectStoreIsNeverOverwritten(t *testing.T) {
	s := setupStore(t)
	place := s.place(t)
	write := func(text string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	}
	require.NoError(t, place.Create(t.Context(), "log/one", write("first")))
	require.ErrorIs(t, place.Create(t.Context(), "log/one", write("second")), archive.ErrExists)
	object, err := place.Open(t.Context(), "log/one")
	require.NoError(t, err)
	content := make([]byte, object.Size())
	_, err = object.ReadAt(content, 0)
	require.NoError(t, err)
	require.Equal(t, "first", string(content))
}

// Each fault passes, the archive goes on and is whole, and no error is logged.
func TestAnObjectStoreThatMisbehavesForAWhile(t *testing.T) {
	for name, how := range map[string]func(w http.ResponseWriter, r *http.Request, serve http.Handler){
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
			s := setupStore(t)
			s.fill(t, 1, 20)
			require.NoError(t, s.archiver(s.place(t)).Step(t.Context()))
			s.fill(t, 21, 40)
			s.misbehave(how)
			archiver := s.archiver(s.place(t))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- archiver.Run(ctx) }()
			wait.Until(t, func() bool { return strings.Contains(s.logged(), "deliveries are not affected") || s.archived(t) })
			s.misbehave(nil)
			s.fill(t, 41, 60)
			wait.Until(t, func() bool { return s.open(t, s.place(t)).Last() == 60 })
			stop()
			require.NoError(t, <-ended)
			s.requireWhole(t, s.place(t))
			require.NotContains(t, s.logged(), "level=ERROR")
		})
	}
}

// archived reports whether 40 messages are in the archive, although the store misbehaves.
func (s *store) archived(t *testing.T) bool {
	opened, err := archive.Open(t.Context(), s.place(t), s.id(t))
	return err == nil && opened.Last() == 40
}

// Without the condition, an archiver that was frozen could replace a segment by a shorter one.
func TestAnObjectStoreThatOverwritesIsNotUsed(t *testing.T) {
	s := setupStore(t)
	s.fill(t, 1, 3)
	s.misbehave(func(w http.ResponseWriter, r *http.Request, serve http.Handler) {
		r.Header.Del("If-None-Match")
		serve.ServeHTTP(w, r)
	})
	archiver := s.archiver(s.place(t))
	require.ErrorContains(t, archiver.Step(t.Context()), "ignores the condition If-None-Match")
	s.fill(t, 4, 30)
	require.Error(t, archiver.Step(t.Context()))
	require.EqualValues(t, 3, s.open(t, s.place(t)).Last())
}

// A slow store delays the archive alone: every request has an end.
func TestARequestToAnObjectStoreEndsWithItsContext(t *testing.T) {
	s := setupStore(t)
	s.fill(t, 1, 5)
	asked := make(chan struct{}, 10)
	s.misbehave(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
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

func TestSettingsOfAPlace(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"/var/archive": "/var/archive", "file:///var/archive": "/var/archive", "data/archive": "data/archive",
		"s3://bucket": "s3://bucket/", "s3://bucket/a/b/": "s3://bucket/a/b/",
	} {
		place, err := archive.Settings{URL: url}.Place()
		require.NoError(t, err, url)
		require.Equal(t, want, place.String())
	}
	for _, wrong := range []archive.Settings{
		{},
		{URL: "none"},
		{URL: "gs://bucket"},
		{URL: "s3://"},
		{URL: "s3://key:secret@bucket"},
		{URL: "s3://b", S3Endpoint: "localhost:9000"},
		{URL: "s3://b", S3Endpoint: "https://host/path"},
	} {
		_, err := wrong.Place()
		require.Error(t, err, "%+v", wrong)
	}
}
