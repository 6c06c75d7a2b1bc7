// Package payapi serves the APIs of payment providers for tests, as they are documented: pages, cursors, order, limits,
// acknowledgements and archived bodies of events, and lists of payments, subscriptions and refunds. It misbehaves as a
// test says.
package payapi

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// Key is the key that the servers accept.
const Key = "key_of_the_test"

// WebhookID is the id of the endpoint whose events wait for an acknowledgement.
const WebhookID = "wh_cli"

// Event is one event that the provider has.
type Event struct {
	ID       string
	Body     string // empty: it is archived, or never was
	At       time.Time
	Headers  map[string]string // of a delivery, for a feed that is acknowledged
	Attempts int               // to deliver it
}

// Server is the API of one provider. Safe for concurrent use.
type Server struct {
	Provider string
	URL      string

	// Before is called before each request, with its number from 0. If it returns true, it has answered.
	Before func(n int, w http.ResponseWriter, r *http.Request) bool

	mu     sync.Mutex
	asked  int
	events []Event        // oldest first
	acked  map[string]int // the first status of each event
	lists  map[string][]Made
}

// New starts a server.
func New(t testing.TB, provider string) *Server {
	s := &Server{Provider: provider, acked: map[string]int{}, lists: map[string][]Made{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.URL = server.URL
	return s
}

// Add adds events, which are newer than those before.
func (s *Server) Add(events ...Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, events...)
}

// Asked is the number of requests so far.
func (s *Server) Asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// Acknowledged returns the first status that each event was acknowledged with.
func (s *Server) Acknowledged() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]int{}
	for id, status := range s.acked {
		out[id] = status
	}
	return out
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	n, before := s.asked, s.Before
	s.asked++
	s.mu.Unlock()
	if before != nil && before(n, w, r) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if strings.TrimPrefix(cmp.Or(r.Header.Get("X-Api-Key"), r.Header.Get("Authorization")), "Bearer ") != Key {
		http.Error(w, `{"error":"unauthorized"}`, http.StatusUnauthorized)
		return
	}
	answer, status := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

type object = map[string]any

func (s *Server) answer(r *http.Request) (answer any, status int) {
	query, path := r.URL.Query(), s.Provider+" "+r.Method+" "+r.URL.Path
	feed := "/v1/webhooks/" + WebhookID + "/events/"
	switch {
	case path == "stripe GET /v1/events":
		return s.stripe(query)
	case path == "paddle GET /events":
		return s.paddle(query)
	case path == "polar GET /v1/webhooks/deliveries":
		return s.polar(query)
	case path == "creem GET "+feed+"pending":
		return s.pending(query)
	case s.Provider == "creem" && strings.HasPrefix(r.URL.Path, feed) && strings.HasSuffix(r.URL.Path, "/ack") && r.Method == http.MethodPost:
		return s.acknowledge(strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, feed), "/ack"), r)
	}
	return s.objects(r)
}

// newest returns the events newest first.
func (s *Server) newest() []Event {
	out := slices.Clone(s.events)
	slices.Reverse(out)
	return out
}

func size(query url.Values, name string, fallback, most int) int {
	n, err := strconv.Atoi(query.Get(name))
	if err != nil {
		return fallback
	}
	return min(n, most)
}

// after drops the events up to the one with an id.
func after(list []Event, id string) ([]Event, bool) {
	if id == "" {
		return list, true
	}
	i := slices.IndexFunc(list, func(e Event) bool { return e.ID == id })
	return list[i+1:], i >= 0
}

func bodies(list []Event) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, e := range list {
		out[i] = json.RawMessage(e.Body)
	}
	return out
}

func (s *Server) stripe(query url.Values) (any, int) {
	list, found := after(s.newest(), query.Get("starting_after"))
	if !found {
		return object{"error": object{"message": "No such event"}}, http.StatusBadRequest
	}
	since, err := strconv.ParseInt(cmp.Or(query.Get("created[gte]"), "0"), 10, 64)
	if err != nil {
		return object{"error": object{"message": "Invalid integer"}}, http.StatusBadRequest
	}
	list = slices.DeleteFunc(list, func(e Event) bool { return e.At.Unix() < since })
	n := min(size(query, "limit", 10, 100), len(list))
	return object{"object": "list", "url": "/v1/events", "has_more": n < len(list), "data": bodies(list[:n])}, http.StatusOK
}

func (s *Server) paddle(query url.Values) (any, int) {
	list := s.newest()
	if query.Get("order_by") != "id[DESC]" {
		slices.Reverse(list)
	}
	list, found := after(list, query.Get("after"))
	if !found {
		return object{"error": object{"code": "invalid_field"}}, http.StatusBadRequest
	}
	n, last := min(size(query, "per_page", 50, 200), len(list)), ""
	if n > 0 {
		last = list[n-1].ID
	}
	return object{"data": bodies(list[:n]), "meta": object{"pagination": object{
		"per_page": n, "has_more": n < len(list), "estimated_total": len(list), "next": "https://api.paddle.example/events?after=" + last,
	}}}, http.StatusOK
}

func (s *Server) polar(query url.Values) (any, int) {
	since, _ := time.Parse(time.RFC3339Nano, query.Get("start_timestamp"))
	items := []object{}
	for _, e := range s.newest() {
		if !e.At.After(since) {
			continue
		}
		var payload any
		if e.Body != "" {
			payload = e.Body
		}
		for n := range max(1, e.Attempts) {
			items = append(items, object{
				"id": fmt.Sprintf("%s-%d", e.ID, n), "created_at": e.At.Format(time.RFC3339Nano), "succeeded": false,
				"webhook_event": object{"id": e.ID, "payload": payload, "is_archived": payload == nil},
			})
		}
	}
	limit, page := size(query, "limit", 10, 100), size(query, "page", 1, 1<<30)
	from := min((page-1)*limit, len(items))
	return object{"items": items[from:min(from+limit, len(items))], "pagination": object{
		"total_count": len(items), "max_page": (len(items) + limit - 1) / limit,
	}}, http.StatusOK
}

func (s *Server) pending(query url.Values) (any, int) {
	items := []object{}
	for _, e := range s.events {
		if _, done := s.acked[e.ID]; !done && len(items) < size(query, "limit", 50, 100) {
			items = append(items, object{"id": e.ID, "object": "webhook-event", "created_at": e.At.Format(time.RFC3339Nano), "body": e.Body, "headers": e.Headers})
		}
	}
	return object{"items": items}, http.StatusOK
}

func (s *Server) acknowledge(id string, r *http.Request) (any, int) {
	var ack struct {
		Status int `json:"status_code"`
	}
	if err := json.NewDecoder(r.Body).Decode(&ack); err != nil || ack.Status == 0 {
		return object{"error": "bad request"}, http.StatusBadRequest
	}
	if !slices.ContainsFunc(s.events, func(e Event) bool { return e.ID == id }) {
		return object{"error": "not found"}, http.StatusNotFound
	}
	if _, done := s.acked[id]; !done {
		s.acked[id] = ack.Status
	}
	return object{"id": id, "object": "webhook-event-ack", "success": s.acked[id]/100 == 2}, http.StatusOK
}
