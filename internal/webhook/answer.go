package webhook

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
)

// answer is one way a delivery ends; its name is the metric's label.
type answer struct {
	name   string
	status int
	title  string
	detail string
}

var (
	notFound         = answer{"not_found", http.StatusNotFound, "Not found", "deliveries go to POST " + Path}
	wrongMethod      = answer{"wrong_method", http.StatusMethodNotAllowed, "Method not allowed", "deliveries are POSTed"}
	unsupportedMedia = answer{
		"unsupported_media", http.StatusUnsupportedMediaType, "Unsupported media type",
		"the body must be JSON with a JSON content type and no content encoding",
	}
	tooLarge     = answer{"too_large", http.StatusRequestEntityTooLarge, "Body too large", "the body is larger than this endpoint takes"}
	tooSlow      = answer{"too_slow", http.StatusRequestTimeout, "Body too slow", "the body did not arrive in time"}
	brokenOff    = answer{"broken_off", http.StatusBadRequest, "Body broken off", "the body ended before its announced length"}
	unauthorized = answer{
		"unauthorized", http.StatusUnauthorized, "Signature not valid",
		"provider-signature must be the hex HMAC-SHA256 of the raw body under this endpoint's secret",
	}
	malformed   = answer{"malformed", http.StatusBadRequest, "Not an event", ""}
	unavailable = answer{"unavailable", http.StatusServiceUnavailable, "Not stored", "the event is not confirmed; send it again"}
	tooMany     = answer{"too_many", http.StatusServiceUnavailable, "Too many deliveries at once", "it is not stored; send it again"}
)

// retryAfter is in seconds; providers that heed it come back soon, and the log
// is usually back within two seconds.
const retryAfter = "2"

// refuse closes the connection with the answer: it may be a stranger's.
func refuse(w http.ResponseWriter, a answer) {
	header := w.Header()
	header.Set("Connection", "close")
	header.Set("Content-Type", problemType)
	switch a.status {
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodPost)
	case http.StatusServiceUnavailable:
		header.Set("Retry-After", retryAfter)
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.problem()) // who hung up does not hear it
}

const problemType = "application/problem+json"

// problem is the answer's document (RFC 9457).
func (a answer) problem() []byte {
	text, err := json.Marshal(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{a.title, a.status, a.detail})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(text, '\n')
}

// confirm writes {"status":…,"id":…}. The status needs no quoting.
func confirm(w http.ResponseWriter, status, id string) {
	w.Header()["Content-Type"] = jsonType
	_, _ = io.WriteString(w, `{"status":"`+status+`","id":`+quoted(id)+"}\n") // who hung up does not hear it
}

// jsonType is shared by all answers: nobody changes it.
var jsonType = []string{"application/json"}

// quoted is the id as JSON. It is clean (events.CleanID), but for quotes,
// backslashes and what JSON escapes for HTML.
func quoted(id string) string {
	if !strings.ContainsAny(id, `"\<>&`) {
		return `"` + id + `"`
	}
	text, err := json.Marshal(id)
	if err != nil {
		panic(err) // it is a string
	}
	return string(text)
}
