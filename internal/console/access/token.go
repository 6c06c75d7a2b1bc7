package access

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// tokenViewer is the Viewer of somebody who has the token.
const tokenViewer = "token"

var errWrongToken = errors.New("wrong token")

// maxFormBytes bounds the form of a login: a token and a link.
const maxFormBytes = 16 << 10

// takesForm reports whether a request is the form with the token. It is refused where a proxy says who looks.
func (g *Guard) takesForm(r *http.Request) bool {
	peer := peerOf(r)
	return r.Method == http.MethodPost && r.URL.Path == loginPath && g.token != "" && !g.proxy.trusts(peer) && !g.proxy.closes(peer)
}

// takeForm begins a session for somebody who enters the token.
func (g *Guard) takeForm(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxFormBytes)
	g.takeToken(w, r, r.PostFormValue("token"), local(r.PostFormValue("to")))
}

// takeToken begins a session for somebody who opens the link or enters the token, and opens a page.
func (g *Guard) takeToken(w http.ResponseWriter, r *http.Request, given, to string) {
	if !g.seals.equal(given, g.token) {
		out := wrongToken
		out.Form = to
		g.fail(w, r, out, errWrongToken)
		return
	}
	g.enter(w, r, tokenViewer, g.now().Add(sessionTime), to)
}

// takeCredentials serves a browser that has a session, and a script that has the token. Other
// credentials do not count: a proxy may pass on credentials that were meant for the proxy.
func (g *Guard) takeCredentials(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	if s, ok := g.session(r); ok {
		g.show(w, r, pages, viewer{s.viewer, true}, s.ends)
		return
	}
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case g.token == "" || !strings.EqualFold(scheme, "Bearer"):
		g.answer(w, r, g.loggedOut(r))
	case !g.seals.equal(strings.TrimSpace(given), g.token):
		g.fail(w, r, wrongToken, errWrongToken)
	default:
		g.show(w, r, pages, viewer{name: tokenViewer}, g.now().Add(sessionTime))
	}
}

// Failed attempts are logged and explained at this rate. Further ones only get the answer tooMany.
const (
	maxFailuresAtOnce = 10
	failureInterval   = 6 * time.Second
)

// failures limits what failed attempts cost, and how much they write to the log. There is one limit
// for all: behind a proxy, and on one machine, strangers and operators have the same address. The
// right token is accepted even beyond the limit. The token's length makes guessing hopeless.
type failures struct {
	limit    *rate.Limiter
	unlogged atomic.Int64
}

// fail refuses a failed attempt.
func (g *Guard) fail(w http.ResponseWriter, r *http.Request, answer answer, err error) {
	switch {
	case g.failures.limit.AllowN(g.now(), 1):
		g.logger.WarnContext(r.Context(), "a login to the console failed", "peer", peerOf(r).String(), "error", shortened(err), "unlogged_before", g.failures.unlogged.Swap(0))
	case answer.Status == http.StatusUnauthorized:
		answer = tooMany
		fallthrough
	default:
		g.failures.unlogged.Add(1)
	}
	g.answer(w, r, answer)
}

// maxErrorBytes is enough for the beginning of what an issuer answers.
const maxErrorBytes = 300

func shortened(err error) string {
	text := err.Error()
	if len(text) <= maxErrorBytes {
		return text
	}
	return strings.ToValidUTF8(text[:maxErrorBytes], "") + "…"
}
