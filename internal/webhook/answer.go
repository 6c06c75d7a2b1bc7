package webhook

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/payfold/payfold/internal/providers"
)

// answer is one possible answer to a delivery. Its name and reason are labels of the metrics.
// docs/reference.md lists them.
type answer struct {
	name   string
	reason string // empty if the event is stored
	status int
	title  string
	detail string
	id     string // of the event, if it is stored
}

// newProblem returns an answer that is a problem document.
func newProblem(name, reason string, status int, title, detail string) answer {
	return answer{name: name, reason: reason, status: status, title: title, detail: detail}
}

var (
	notFound    = newProblem("not_found", "path", http.StatusNotFound, "Not found", "deliveries go to POST /api/payments/NAME/webhook, where NAME is a provider whose secret is set")
	wrongMethod = newProblem("wrong_method", "method", http.StatusMethodNotAllowed, "Method not allowed", "deliveries are POSTed")
	notJSON     = newProblem(
		"unsupported_media", "content_type", http.StatusUnsupportedMediaType, "Unsupported media type",
		"the body must be JSON with a JSON content type and no content encoding",
	)
	encoded   = notJSON.because("content_encoding")
	tooLarge  = newProblem("too_large", "body_size", http.StatusRequestEntityTooLarge, "Body too large", "the body is larger than this endpoint accepts")
	tooSlow   = newProblem("too_slow", "body_rate", http.StatusRequestTimeout, "Body too slow", "the body did not arrive in time")
	truncated = newProblem("broken_off", "body_end", http.StatusBadRequest, "Body truncated", "the body ended before its announced length")
	unsigned  = newProblem("unauthorized", "no_signature", http.StatusUnauthorized, "Signature not valid", "")

	wrongSignature = unsigned.because("signature")
	wrongTime      = unsigned.because("timestamp")
	malformed      = newProblem("malformed", "syntax", http.StatusBadRequest, "Not an event", "")
	notConfirmed   = newProblem("unavailable", "log", http.StatusServiceUnavailable, "Not stored", "the event is not confirmed; send it again")
	lateConfirmed  = notConfirmed.because("log_timeout")
	tooMany        = newProblem("too_many", "deliveries", http.StatusServiceUnavailable, "Too many deliveries at once", "the event is not stored; send it again")
	tooManyBodies  = tooMany.because("bodies")
	accepted       = answer{name: "accepted", status: http.StatusOK}
	duplicate      = answer{name: "duplicate", status: http.StatusOK}
)

var answers = []answer{
	notFound, wrongMethod, notJSON, encoded, tooLarge, tooSlow, truncated, unsigned, wrongSignature, wrongTime, malformed,
	notConfirmed, lateConfirmed, tooMany, tooManyBodies, accepted, duplicate,
}

// refusedSignature returns the answer to a delivery whose signature is not valid. It names the header that was expected,
// and one of another provider if the delivery has that.
func refusedSignature(p *providers.Provider, err error, header http.Header) answer {
	expected := strings.ToLower(p.SignatureHeader())
	a := wrongSignature
	a.detail = "no signature in " + expected + " is that of the raw body under this endpoint's secret"
	switch {
	case errors.Is(err, providers.ErrTimestamp):
		a = wrongTime
		a.detail = "the signed time is more than five minutes from this server's"
	case errors.Is(err, providers.ErrNoSignature):
		a = unsigned
		a.detail = "this path expects " + expected
		if foreign := p.ForeignHeader(header); foreign != "" {
			a.detail += "; the delivery has " + strings.ToLower(foreign)
		}
	}
	return a
}

// because returns the same answer to the sender, for another reason.
func (a answer) because(reason string) answer {
	a.reason = reason
	return a
}

// confirmed reports whether the event is stored.
func (a answer) confirmed() bool { return a.status == http.StatusOK }

// refusesEvent reports whether a delivery with a valid signature was not stored, so that the
// provider must send it again.
func (a answer) refusesEvent() bool {
	return a.status == http.StatusServiceUnavailable && a.reason != tooManyBodies.reason
}

// doubtsSignature reports whether a delivery was refused that has a signature, and not one of this endpoint's secrets, or
// the time of another clock. It can be the provider's, which sends it again, or a stranger's.
func (a answer) doubtsSignature() bool {
	return a.status == http.StatusUnauthorized && a.reason != unsigned.reason
}

// retryAfter is in seconds. After an outage the log is usually available within two seconds.
const retryAfter = "2"

// writeProblem writes the problem document, and asks the server to close the connection, because the
// sender may be a stranger.
func writeProblem(w http.ResponseWriter, a answer) {
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
	_, _ = w.Write(a.problem()) // fails if the sender has closed the connection
}

const problemType = "application/problem+json"

// problem returns the answer's problem document (RFC 9457).
func (a answer) problem() []byte {
	return asJSON(struct {
		Title  string `json:"title"`
		Status int    `json:"status"`
		Detail string `json:"detail"`
	}{a.title, a.status, a.detail})
}

func writeConfirmation(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(asJSON(struct { // fails if the sender has closed the connection
		Status string `json:"status"`
		ID     string `json:"id"`
	}{a.name, a.id}))
}

// asJSON returns a line of JSON.
func asJSON(value any) []byte {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and numbers only
	}
	return append(text, '\n')
}
