package webhook_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/specification"
)

func requireProblem(t *testing.T, got reply, status int, title string) {
	t.Helper()
	require.Equal(t, status, got.status, got.body)
	require.Equal(t, "application/problem+json", got.header.Get("Content-Type"))
	var problem map[string]any
	require.NoError(t, json.Unmarshal([]byte(got.body), &problem), got.body)
	require.Len(t, problem, 3)
	require.Equal(t, title, problem["title"])
	require.EqualValues(t, status, problem["status"])
	require.NotEmpty(t, problem["detail"])
	allow, retry := "", ""
	switch status {
	case http.StatusMethodNotAllowed:
		allow = "POST"
	case http.StatusServiceUnavailable:
		retry = "2"
	}
	require.Equal(t, allow, got.header.Get("Allow"))
	require.Equal(t, retry, got.header.Get("Retry-After"))
}

const (
	wrongMethod  = "Method not allowed"
	unsupported  = "Unsupported media type"
	tooLarge     = "Body too large"
	unauthorized = "Signature not valid"
	notAnEvent   = "Not an event"
	notFound     = "Not found"
	notStored    = "Not stored"
)

var tooBig = `{"id":"evt_1","eventType":"t","object":{"x":"` + strings.Repeat("x", limit) + `"}}`

// The rows are in the order of the checks. A request with two faults gets the answer to the
// first one.
var problems = []struct {
	name   string
	body   string
	spoil  func(*request)
	status int
	title  string
}{
	{"another path", event, func(r *request) { r.path = "/" }, 404, notFound},
	{"another path and GET", event, func(r *request) { r.path, r.method = "/x", "GET" }, 404, notFound},
	{"GET", event, func(r *request) { r.method = "GET" }, 405, wrongMethod},
	{"PUT", event, func(r *request) { r.method = "PUT" }, 405, wrongMethod},
	{"OPTIONS", event, func(r *request) { r.method = "OPTIONS" }, 405, wrongMethod},
	{"lower-case post", event, func(r *request) { r.method = "post" }, 405, wrongMethod},
	{"GET without a content type", event, func(r *request) { r.method = "GET"; r.header.Del("Content-Type") }, 405, wrongMethod},
	{"PUT, oversized and unsigned", tooBig, func(r *request) { r.method = "PUT"; unsign(r) }, 405, wrongMethod},
	{"no content type", event, func(r *request) { r.header.Del("Content-Type") }, 415, unsupported},
	{"gzip", event, func(r *request) { r.header.Set("Content-Encoding", "gzip") }, 415, unsupported},
	{"no content type and unsigned", event, func(r *request) { r.header.Del("Content-Type"); unsign(r) }, 415, unsupported},
	{"text and oversized", tooBig, func(r *request) { r.header.Set("Content-Type", "text/plain") }, 415, unsupported},
	{"oversized", tooBig, func(*request) {}, 413, tooLarge},
	{"oversized and unsigned", tooBig, unsign, 413, tooLarge},
	{"unsigned", event, unsign, 401, unauthorized},
	{"unsigned and not JSON", `hello`, unsign, 401, unauthorized},
	{"unsigned and empty", ``, unsign, 401, unauthorized},
	{"empty", ``, func(*request) {}, 400, notAnEvent},
	{"not JSON", `hello`, func(*request) {}, 400, notAnEvent},
	{"an array", `[` + event + `]`, func(*request) {}, 400, notAnEvent},
	{"trailing data", event + `{}`, func(*request) {}, 400, notAnEvent},
	{"not UTF-8", "{\"id\":\"\xff\",\"eventType\":\"t\",\"object\":{}}", func(*request) {}, 400, notAnEvent},
	{"101 levels", `{"id":"e","eventType":"t","object":{"x":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}}`, func(*request) {}, 400, notAnEvent},
	{"no id", `{"eventType":"t","object":{}}`, func(*request) {}, 400, notAnEvent},
	{"no type", `{"id":"e","object":{}}`, func(*request) {}, 400, notAnEvent},
	{"no object", `{"id":"e","eventType":"t"}`, func(*request) {}, 400, notAnEvent},
	{"id twice", `{"id":"e","id":"e","eventType":"t","object":{}}`, func(*request) {}, 400, notAnEvent},
	{"empty id", `{"id":"","eventType":"t","object":{}}`, func(*request) {}, 400, notAnEvent},
	{"numeric type", `{"id":"e","eventType":7,"object":{}}`, func(*request) {}, 400, notAnEvent},
	{"lone surrogate", `{"id":"\ud800","eventType":"t","object":{}}`, func(*request) {}, 400, notAnEvent},
	{"object is an array", `{"id":"e","eventType":"t","object":[]}`, func(*request) {}, 400, notAnEvent},
}

func unsign(r *request) { r.header.Del(specification.SignatureHeader) }

func TestEachFaultHasItsAnswerAndTheFirstFaultDecides(t *testing.T) {
	t.Parallel()
	w := setup(t)
	for _, row := range problems {
		r := delivery(row.body)
		row.spoil(r)
		t.Log(row.name)
		requireProblem(t, w.send(r), row.status, row.title)
		require.Empty(t, w.log.deliveries(), row.name)
	}
}

func TestTheAnswerFollowsFromTheLogsResult(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		duplicate bool
		err       error
		status    int
		body      string
	}{
		"stored":    {false, nil, 200, `{"status":"accepted","id":"evt_1"}` + "\n"},
		"duplicate": {true, nil, 200, `{"status":"duplicate","id":"evt_1"}` + "\n"},
		"error":     {false, errors.New("no space"), 503, ""},
		"both":      {true, errors.New("duplicate in process"), 503, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := setup(t, func(w *world) {
				w.log.answer = func(context.Context, events.Delivery) (bool, error) { return row.duplicate, row.err }
			})
			got := w.send(delivery(event))
			if row.status != http.StatusOK {
				requireProblem(t, got, row.status, notStored)
				require.NotContains(t, got.body, row.err.Error(), "the answer reveals no internal error")
				return
			}
			require.Equal(t, row.status, got.status)
			require.Equal(t, row.body, got.body)
			require.Equal(t, "application/json", got.header.Get("Content-Type"))
		})
	}
}

func TestAnEventOfAnUnknownTypeIsAccepted(t *testing.T) {
	t.Parallel()
	w := setup(t)
	got := w.send(delivery(`{"id":"evt_1","eventType":"never.heard_of","new":[1],"object":{"metadata":7}}`))
	require.Equal(t, accepted, got.body)
	require.Len(t, w.log.deliveries(), 1)
}
