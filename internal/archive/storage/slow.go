package storage

import (
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

// sayAfter is how long a server may take for an answer before it is named. It is less than any timeout of a request.
const sayAfter = 5 * time.Second

// slowTransport warns of a server that does not answer. It warns once until that server answers again, because a client
// tries several times. The time in which a body is sent does not count: a segment on a slow line takes long.
type slowTransport struct {
	*http.Transport
	logger *slog.Logger // nil: it never warns
	warned atomic.Bool
}

// RoundTrip implements http.RoundTripper.
func (t *slowTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if t.logger == nil {
		return t.Transport.RoundTrip(request)
	}
	ctx := request.Context()
	var done atomic.Bool // a request can also be written after its answer
	late := time.AfterFunc(sayAfter, func() {
		if !done.Load() && !t.warned.Swap(true) {
			t.logger.WarnContext(ctx, "the archive's store does not answer yet", "endpoint", request.URL.Host, "after", sayAfter)
		}
	})
	defer func() { done.Store(true); late.Stop() }()
	traced := request.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { late.Stop() },
		WroteRequest: func(httptrace.WroteRequestInfo) { late.Reset(sayAfter) },
	}))
	response, err := t.Transport.RoundTrip(traced)
	if err == nil {
		t.warned.Store(false)
	}
	return response, err
}
