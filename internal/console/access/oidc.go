package access

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// The addresses of a login. The issuer has to know CONSOLE_PUBLIC_URL + callbackPath.
const (
	loginPath    = "/login"
	callbackPath = "/login/callback"
)

// loginTime is how long somebody may take at the issuer.
const loginTime = 10 * time.Minute

// login is one login under way. The browser keeps its state, and the page that follows it, in a
// sealed cookie. Nonce and PKCE verifier are derived from the state, so that they never leave the
// process before they are used.
type login struct{ state, nonce, verifier, to string }

func (g *Guard) loginOf(state, to string) login {
	return login{state: state, nonce: g.seals.derived("nonce", state), verifier: g.seals.derived("verifier", state), to: local(to)}
}

// startLogin sends the browser to the issuer.
func (g *Guard) startLogin(w http.ResponseWriter, r *http.Request) {
	l := g.loginOf(rand.Text(), r.URL.Query().Get("to"))
	address, err := g.issuer.loginURL(r.Context(), l)
	if err != nil {
		g.fail(w, r, issuerAway, err)
		return
	}
	// The issuer sends the browser back from another site: with Lax, the browser sends the cookie.
	g.setCookie(w, r, loginCookie, l.state+" "+l.to, g.now().Add(loginTime), http.SameSiteLaxMode)
	w.Header().Set("Location", address)
	w.WriteHeader(http.StatusSeeOther)
}

var (
	errNoLogin   = errors.New("the browser has begun no login, or too long ago")
	errState     = errors.New("the state is not that of the browser's login")
	errSecondUse = errors.New("the login was used before")
)

// endLogin takes the issuer's answer, which the browser brings.
func (g *Guard) endLogin(w http.ResponseWriter, r *http.Request) {
	viewer, ends, to, err := g.finish(r)
	g.deleteCookie(w, r, loginCookie, http.SameSiteLaxMode)
	switch {
	case errors.Is(err, errIssuerAway):
		g.fail(w, r, issuerAway, err)
	case errors.Is(err, errNotAllowed):
		g.fail(w, r, notAllowed, err)
	case err != nil:
		g.fail(w, r, failedLogin, err)
	default:
		g.enter(w, r, viewer, ends, to)
	}
}

func (g *Guard) finish(r *http.Request) (viewer string, ends time.Time, to string, err error) {
	text, _, ok := g.cookie(r, loginCookie)
	if !ok {
		return "", time.Time{}, "", errNoLogin
	}
	state, to, _ := strings.Cut(text, " ")
	query := r.URL.Query()
	if !g.seals.equal(query.Get("state"), state) {
		return "", time.Time{}, "", errState
	}
	if reason := query.Get("error"); reason != "" {
		return "", time.Time{}, "", fmt.Errorf("the issuer refused: %q", reason)
	}
	viewer, ends, err = g.issuer.identify(r.Context(), query.Get("code"), g.loginOf(state, to))
	if err == nil && !g.spent.add(state, g.now().Add(loginTime), g.now()) {
		err = errSecondUse
	}
	return viewer, ends, to, err
}
