package access

import (
	"context"
	"net/http"
)

// logoutPath accepts a POST that ends the session of the browser. The console accepts no other POST but the form with
// the token.
const logoutPath = "/logout"

// HasSession reports whether the viewer has a session, which a POST to /logout ends. Scripts have no
// session, and neither has a user whom a proxy names.
func (g *Guard) HasSession(ctx context.Context) bool {
	who, _ := ctx.Value(viewerKey{}).(viewer)
	return who.session
}

// takesLogout reports whether a request asks to log out.
func (g *Guard) takesLogout(r *http.Request) bool {
	return r.Method == http.MethodPost && r.URL.Path == logoutPath && !g.proxy.trusts(peerOf(r))
}

// logOut ends the session of the browser. Copies of its cookie do not count any more.
func (g *Guard) logOut(w http.ResponseWriter, r *http.Request) {
	if s, ok := g.session(r); ok {
		g.spent.add(s.id, s.ends, g.now())
		g.logger.InfoContext(r.Context(), "somebody logged out of the console", "viewer", s.viewer, "peer", peerOf(r).String())
	}
	g.deleteCookie(w, r, sessionCookie, http.SameSiteStrictMode)
	out := g.loggedOut(r)
	out.Status, out.Title = http.StatusOK, "You are logged out"
	if g.issuer != nil {
		out.Detail = "The session at " + g.issuer.name() + " goes on: the next user of this browser may be able to log in without a password."
		out.Links = []link{{loginPath, "Log in again"}}
	}
	g.answer(w, r, out)
}
