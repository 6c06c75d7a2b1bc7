package reconcile_test

import (
	"cmp"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providerapi"
)

// server is a provider's interface with the lists that its reference documents: their filters, orders and pages.
type server struct {
	*dialect
	url string

	mu        sync.Mutex
	lists     map[string][]made
	meanwhile func(r *http.Request) // called before each answer
	fault     func(w http.ResponseWriter, r *http.Request) (answered bool)
}

func newServer(t *testing.T, d *dialect) *server {
	s := &server{dialect: d, lists: map[string][]made{}}
	listening := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(listening.Close)
	s.url = listening.URL
	return s
}

const key = "key_0123456789abcdef"

func (s *server) client(t *testing.T) *providerapi.Client {
	t.Helper()
	secret, err := providerapi.NewKey(key)
	require.NoError(t, err)
	client, err := providerapi.New(providerapi.Config{
		Provider: s.name, URL: s.url, Key: secret,
		RetryWait: time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// has adds objects to the lists. One of the same id replaces the other.
func (s *server) has(all ...made) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range all {
		s.lists[one.list] = slices.DeleteFunc(s.lists[one.list],
			func(m made) bool { return m.object["id"] == one.object["id"] })
		s.lists[one.list] = append(s.lists[one.list], one)
	}
}

func (s *server) serve(w http.ResponseWriter, r *http.Request) {
	if s.fault != nil && s.fault(w, r) {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+key && r.Header.Get("X-Api-Key") != key {
		http.Error(w, `{"error":{"message":"the key is not known"}}`, http.StatusUnauthorized)
		return
	}
	if s.meanwhile != nil {
		s.meanwhile(r)
	}
	if r.URL.Query().Has("expand[]") && r.Header.Get("Stripe-Version") < "2025-03-31" { // the account has an old version
		http.Error(w, `{"error":{"message":"This property cannot be expanded (payments)."}}`, http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer, status := map[string]func(string, url.Values) (any, int){
		"stripe": s.stripe, "paddle": s.paddle, "polar": s.polar, "creem": s.creem,
	}[s.name](r.URL.Path, r.URL.Query())
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer)
}

// where returns the objects of a list that have these, the newest first.
func (s *server) where(list string, has func(made) bool) (out []made) {
	for _, one := range s.lists[list] {
		if has(one) {
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b made) int { return b.at.Compare(a.at) })
	return out
}

func objectsOf(all []made) []any {
	out := []any{}
	for _, one := range all {
		out = append(out, one.object)
	}
	return out
}

// after returns the objects after the one with that id, at most limit, and whether there are more.
func after(all []made, id string, limit int) ([]made, bool) {
	if i := slices.IndexFunc(all, func(m made) bool { return m.object["id"] == id }); id != "" && i >= 0 {
		all = all[i+1:]
	}
	return all[:min(limit, len(all))], len(all) > limit
}

var notFound = object{"error": object{"message": "no such object"}}

func (s *server) stripe(path string, q url.Values) (any, int) {
	if collection, id, isOne := cutID(path, "/v1/invoices", "/v1/subscriptions", "/v1/refunds", "/v1/payment_intents",
		"/v1/disputes"); isOne {
		if found := s.where(collection, func(m made) bool { return m.object["id"] == id }); len(found) > 0 {
			return found[0].object, http.StatusOK
		}
		return notFound, http.StatusNotFound
	}
	since, _ := strconv.ParseInt(q.Get("created[gte]"), 10, 64)
	all := s.where(path, func(m made) bool {
		status := m.object["status"]
		return m.object["created"].(int64) >= since && (q.Get("status") == "" || q.Get("status") == status) &&
			!(path == "/v1/subscriptions" && q.Get("status") == "" && status == "canceled")
	})
	limit, _ := strconv.Atoi(q.Get("limit"))
	page, more := after(all, q.Get("starting_after"), min(limit, 100))
	return object{"object": "list", "url": path, "data": objectsOf(page), "has_more": more}, http.StatusOK
}

// cutID cuts the id from the path of one object.
func cutID(path string, collections ...string) (collection, id string, isOne bool) {
	for _, collection := range collections {
		if id, found := strings.CutPrefix(path, strings.TrimSuffix(collection, "/")+"/"); found && id != "" {
			return collection, id, true
		}
	}
	return "", "", false
}

func (s *server) paddle(path string, q url.Values) (any, int) {
	in := func(key string, value any) bool {
		text, _ := value.(string)
		return q.Get(key) == "" || slices.Contains(strings.Split(q.Get(key), ","), text)
	}
	since, _ := time.Parse(time.RFC3339, q.Get("updated_at[GTE]"))
	all := s.where(path, func(m made) bool {
		updated, _ := time.Parse(time.RFC3339, m.object["updated_at"].(string))
		return in("id", m.object["id"]) && in("status", m.object["status"]) &&
			in("transaction_id", m.object["transaction_id"]) && !updated.Before(since)
	})
	if q.Get("order_by") != "id[DESC]" {
		slices.Reverse(all)
	}
	most := map[string]int{"/transactions": 30, "/subscriptions": 200, "/adjustments": 50}[path]
	limit, _ := strconv.Atoi(q.Get("per_page"))
	if limit == 0 {
		limit = most
	}
	page, more := after(all, q.Get("after"), min(limit, most))
	next := "https://api.paddle.com" + path
	if len(page) > 0 {
		q.Set("after", page[len(page)-1].object["id"].(string))
		next += "?" + q.Encode()
	}
	pagination := object{"per_page": limit, "next": next, "has_more": more, "estimated_total": len(all)}
	return object{"data": objectsOf(page), "meta": object{"pagination": pagination}}, http.StatusOK
}

func (s *server) polar(path string, q url.Values) (any, int) {
	if collection, id, isOne := cutID(path, "/v1/orders/", "/v1/subscriptions/"); isOne {
		if found := s.where(collection, func(m made) bool { return m.object["id"] == id }); len(found) > 0 {
			return found[0].object, http.StatusOK
		}
		return notFound, http.StatusNotFound
	}
	since, _ := time.Parse(time.RFC3339, q.Get("created_after"))
	all := s.where(path, func(m made) bool {
		status := m.object["status"].(string)
		return (q.Get("id") == "" || q.Get("id") == m.object["id"]) && (!q.Has("status") ||
			slices.Contains(q["status"], status)) && !m.at.Before(since)
	})
	if !strings.HasPrefix(q.Get("sorting"), "-") {
		slices.Reverse(all)
	}
	limit, _ := strconv.Atoi(q.Get("limit"))
	if limit == 0 {
		limit = 10
	}
	number, _ := strconv.Atoi(cmp.Or(q.Get("page"), "1"))
	pages := (len(all) + limit - 1) / limit
	from := min((number-1)*limit, len(all))
	return object{
		"items": objectsOf(all[from:min(from+limit, len(all))]), "pagination": object{
			"total_count": len(all),
			"max_page":    pages,
		},
	}, http.StatusOK
}

func (s *server) creem(path string, q url.Values) (any, int) {
	for one, param := range map[string]string{
		"/v1/transactions":  "transaction_id",
		"/v1/subscriptions": "subscription_id",
	} {
		if path != one {
			continue
		}
		if found := s.where(path+"/search", func(m made) bool { return m.object["id"] == q.Get(param) }); len(found) > 0 {
			return found[0].object, http.StatusOK
		}
		return notFound, http.StatusNotFound
	}
	all := s.where(path, func(m made) bool { return q.Get("order_id") == "" || q.Get("order_id") == m.object["order"] })
	limit, _ := strconv.Atoi(q.Get("page_size"))
	if limit == 0 {
		limit = 10
	}
	number, _ := strconv.Atoi(cmp.Or(q.Get("page_number"), "1"))
	pages := (len(all) + limit - 1) / limit
	from := min((number-1)*limit, len(all))
	var next any
	if number < pages {
		next = number + 1
	}
	return object{
		"items": objectsOf(all[from:min(from+limit, len(all))]),
		"pagination": object{
			"total_records": len(all), "total_pages": pages, "current_page": number, "next_page": next,
			"prev_page": nil,
		},
	}, http.StatusOK
}

// isFind reports whether a request is for one object.
func isFind(r *http.Request) bool {
	_, _, isOne := cutID(r.URL.Path, "/v1/invoices", "/v1/subscriptions", "/v1/refunds", "/v1/orders")
	return isOne && !strings.HasSuffix(r.URL.Path, "/search") || r.URL.Query().Has("id") ||
		r.URL.Query().Has("transaction_id")
}
