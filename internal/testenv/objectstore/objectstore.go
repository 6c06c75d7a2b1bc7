// Package objectstore is an object store that speaks S3. A test can make the proxy before it
// misbehave.
package objectstore

import (
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive/storage"
)

// Bucket is the one bucket.
const Bucket = "archives"

// Server is an empty object store until the end of the test. Safe for concurrent use.
type Server struct {
	Endpoint string

	mu     sync.Mutex
	faulty Fault
}

// Fault answers a request in place of the store, or passes it on to serve.
type Fault func(w http.ResponseWriter, r *http.Request, serve http.Handler)

// setCredentials sets those of the process, which all its stores share.
var setCredentials = sync.OnceFunc(func() {
	os.Setenv("AWS_ACCESS_KEY_ID", "key")
	os.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	os.Setenv("AWS_REGION", "us-east-1")
})

// New starts a store, whose credentials are in the environment from now on.
func New(t *testing.T) *Server {
	t.Helper()
	setCredentials()
	backend := s3mem.New()
	require.NoError(t, backend.CreateBucket(Bucket))
	fake := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(fake.Close)
	target, err := url.Parse(fake.URL)
	require.NoError(t, err)
	forward := httputil.NewSingleHostReverseProxy(target)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	forward.Transport = transport
	s := &Server{}
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
	s.Endpoint = proxy.URL
	return s
}

// Misbehave makes all requests from now on go to fault; nil ends that.
func (s *Server) Misbehave(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faulty = fault
}

// Place returns a place in the bucket. Its connections are closed at the end of the test.
func (s *Server) Place(t testing.TB, prefix string) storage.Place {
	t.Helper()
	place, err := storage.Settings{URL: "s3://" + Bucket + "/" + prefix, S3Endpoint: s.Endpoint}.Place()
	require.NoError(t, err)
	t.Cleanup(place.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	return place
}
