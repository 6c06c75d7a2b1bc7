package payapi

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Has adds objects to the lists. One of the same id replaces the other.
func (s *Server) Has(all ...Made) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range all {
		s.lists[one.List] = slices.DeleteFunc(s.lists[one.List], func(m Made) bool { return m.Object["id"] == one.Object["id"] })
		s.lists[one.List] = append(s.lists[one.List], one)
	}
}

// objects answers with a list of objects, or with one object: with the filters, the orders and the pages that the
// provider's reference documents.
func (s *Server) objects(r *http.Request) (answer any, status int) {
	query := r.URL.Query()
	if query.Has("expand[]") && r.Header.Get("Stripe-Version") < "2025-03-31" { // the account has an old version
		return object{"error": object{"message": "This property cannot be expanded (payments)."}}, http.StatusBadRequest
	}
	return map[string]func(string, url.Values) (any, int){
		"stripe": s.stripeObjects, "paddle": s.paddleObjects, "polar": s.polarObjects, "creem": s.creemObjects,
	}[s.Provider](r.URL.Path, query)
}

// where returns the objects of a list that have these, the newest first.
func (s *Server) where(list string, has func(Made) bool) (out []Made) {
	for _, one := range s.lists[list] {
		if has(one) {
			out = append(out, one)
		}
	}
	slices.SortStableFunc(out, func(a, b Made) int { return b.At.Compare(a.At) })
	return out
}

func objectsOf(all []Made) []any {
	out := []any{}
	for _, one := range all {
		out = append(out, one.Object)
	}
	return out
}

// after returns the objects after the one with that id, at most limit, and whether there are more.
func afterID(all []Made, id string, limit int) ([]Made, bool) {
	if i := slices.IndexFunc(all, func(m Made) bool { return m.Object["id"] == id }); id != "" && i >= 0 {
		all = all[i+1:]
	}
	return all[:min(limit, len(all))], len(all) > limit
}

var notFound = object{"error": object{"message": "no such object"}}

func (s *Server) stripeObjects(path string, q url.Values) (any, int) {
	if collection, id, isOne := CutID(path, "/v1/invoices", "/v1/subscriptions", "/v1/refunds", "/v1/payment_intents",
		"/v1/disputes"); isOne {
		if found := s.where(collection, func(m Made) bool { return m.Object["id"] == id }); len(found) > 0 {
			return found[0].Object, http.StatusOK
		}
		return notFound, http.StatusNotFound
	}
	since, _ := strconv.ParseInt(q.Get("created[gte]"), 10, 64)
	all := s.where(path, func(m Made) bool {
		status := m.Object["status"]
		return m.Object["created"].(int64) >= since && (q.Get("status") == "" || q.Get("status") == status) &&
			!(path == "/v1/subscriptions" && q.Get("status") == "" && status == "canceled")
	})
	limit, _ := strconv.Atoi(q.Get("limit"))
	page, more := afterID(all, q.Get("starting_after"), min(limit, 100))
	return object{"object": "list", "url": path, "data": objectsOf(page), "has_more": more}, http.StatusOK
}

// CutID cuts the id from the path of one object.
func CutID(path string, collections ...string) (collection, id string, isOne bool) {
	for _, collection := range collections {
		if id, found := strings.CutPrefix(path, strings.TrimSuffix(collection, "/")+"/"); found && id != "" {
			return collection, id, true
		}
	}
	return "", "", false
}

func (s *Server) paddleObjects(path string, q url.Values) (any, int) {
	in := func(key string, value any) bool {
		text, _ := value.(string)
		return q.Get(key) == "" || slices.Contains(strings.Split(q.Get(key), ","), text)
	}
	since, _ := time.Parse(time.RFC3339, q.Get("updated_at[GTE]"))
	all := s.where(path, func(m Made) bool {
		updated, _ := time.Parse(time.RFC3339, m.Object["updated_at"].(string))
		return in("id", m.Object["id"]) && in("status", m.Object["status"]) &&
			in("transaction_id", m.Object["transaction_id"]) && !updated.Before(since)
	})
	if q.Get("order_by") != "id[DESC]" {
		slices.Reverse(all)
	}
	most := map[string]int{"/transactions": 30, "/subscriptions": 200, "/adjustments": 50}[path]
	limit, _ := strconv.Atoi(q.Get("per_page"))
	if limit == 0 {
		limit = most
	}
	page, more := afterID(all, q.Get("after"), min(limit, most))
	next := "https://api.paddle.com" + path
	if len(page) > 0 {
		q.Set("after", page[len(page)-1].Object["id"].(string))
		next += "?" + q.Encode()
	}
	pagination := object{"per_page": limit, "next": next, "has_more": more, "estimated_total": len(all)}
	return object{"data": objectsOf(page), "meta": object{"pagination": pagination}}, http.StatusOK
}

func (s *Server) polarObjects(path string, q url.Values) (any, int) {
	if collection, id, isOne := CutID(path, "/v1/orders/", "/v1/subscriptions/"); isOne {
		if found := s.where(collection, func(m Made) bool { return m.Object["id"] == id }); len(found) > 0 {
			return found[0].Object, http.StatusOK
		}
		return notFound, http.StatusNotFound
	}
	since, _ := time.Parse(time.RFC3339, q.Get("created_after"))
	all := s.where(path, func(m Made) bool {
		status := m.Object["status"].(string)
		return (q.Get("id") == "" || q.Get("id") == m.Object["id"]) && (!q.Has("status") ||
			slices.Contains(q["status"], status)) && !m.At.Before(since)
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

func (s *Server) creemObjects(path string, q url.Values) (any, int) {
	for one, param := range map[string]string{
		"/v1/transactions":  "transaction_id",
		"/v1/subscriptions": "subscription_id",
	} {
		if path != one {
			continue
		}
		if found := s.where(path+"/search", func(m Made) bool { return m.Object["id"] == q.Get(param) }); len(found) > 0 {
			return found[0].Object, http.StatusOK
		}
		return notFound, http.StatusNotFound
	}
	all := s.where(path, func(m Made) bool { return q.Get("order_id") == "" || q.Get("order_id") == m.Object["order"] })
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
