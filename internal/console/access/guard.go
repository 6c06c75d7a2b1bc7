package access

import (
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strings"
	"time"

	"golang.org/x/time/rate"
)

// Guard lets only permitted people look. It is safe for concurrent use.
type Guard struct {
	token    string // empty: none
	made     bool   // whether New made the token
	hosts    []host
	public   *url.URL // nil: none
	proxy    proxy
	issuer   *issuer // nil: none
	seals    seals
	spent    spent
	failures failures
	logger   *slog.Logger
	now      func() time.Time
}

// New returns a Guard. It asks the issuer for its endpoints; if that fails, New logs it, and the Guard
// asks again when somebody logs in. The error has all faults of the configuration.
func New(ctx context.Context, config Config, logger *slog.Logger) (*Guard, error) {
	if err := config.Check(); err != nil {
		return nil, err
	}
	g := &Guard{
		token: config.Token, hosts: hostsOf(config), proxy: proxyOf(config), seals: newSeals(),
		failures: failures{limit: rate.NewLimiter(rate.Every(failureInterval), maxFailuresAtOnce)}, logger: logger, now: config.Now,
	}
	if g.now == nil {
		g.now = time.Now
	}
	if config.PublicURL != "" {
		g.public, _ = url.Parse(strings.ToLower(config.PublicURL))
		g.hosts = append(g.hosts, host{name: g.public.Hostname()}) // a proxy before the console may use another port
	}
	if config.OIDC.Issuer != "" {
		g.issuer = newIssuer(config, g.now)
		if _, err := g.issuer.discover(ctx); err != nil {
			logger.WarnContext(ctx, "the issuer does not answer; it is asked again when somebody logs in", "issuer", config.OIDC.Issuer, "error", shortened(err))
		}
	}
	if g.token == "" && g.issuer == nil && !g.proxy.isSet() {
		g.token, g.made = rand.Text(), true
	}
	return g, nil
}

// Link returns the address to open: the public URL, or else base, which is the address on which the
// console listens, such as http://127.0.0.1:8083. It contains the token if New made it. A token
// that was configured is not repeated.
func (g *Guard) Link(base string) string {
	at, err := url.Parse(base)
	if err != nil {
		return base
	}
	if g.public != nil {
		at = g.public
	} else if addr, err := netip.ParseAddr(at.Hostname()); err == nil && addr.IsUnspecified() {
		at.Host = "localhost:" + at.Port()
	}
	link := url.URL{Scheme: at.Scheme, Host: at.Host, Path: "/"}
	if g.made {
		link.RawQuery = "token=" + g.token
	}
	return link.String()
}

// Protect serves pages to those who may look, and an error page to all others. The files in /static are
// for everybody: they are the same in every console. The requests that pages get have neither the
// credentials of a script nor the header of the proxy; Viewer says who looks.
func (g *Guard) Protect(pages http.Handler) http.Handler {
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { g.answer(w, r, otherSite) }))
	protected := crossOrigin.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case g.takesLogout(r):
			g.logOut(w, r)
		case g.takesForm(r):
			g.takeForm(w, r)
		case r.Method != http.MethodGet && r.Method != http.MethodHead:
			g.answer(w, r, wrongMethod)
		case isEmbedded(r):
			g.answer(w, r, otherSite)
		case isStatic(r.URL):
			pages.ServeHTTP(w, r)
		default:
			g.admit(w, r, pages)
		}
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked, err := parseHost(r.Host); err != nil || !asked.isOneOf(g.hosts) {
			g.answer(w, r, wrongHost)
			return
		}
		protected.ServeHTTP(w, r)
	})
}

// isEmbedded reports whether a page of another origin loads something of the console: an image, a
// script, a frame. Other ports of this host are other origins, but their pages send our cookies.
func isEmbedded(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "cross-site", "same-site":
		return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
	default:
		return false
	}
}

// isStatic reports whether a URL is in /static in every way in which the pages may read its path.
func isStatic(u *url.URL) bool {
	return strings.HasPrefix(u.EscapedPath(), "/static/") && path.Clean(u.Path) == u.Path
}

// admit finds out who asks. A trusted proxy always names the user. If a proxy is configured, nobody
// else may ask over the network.
func (g *Guard) admit(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	peer := peerOf(r)
	asked := r.URL.Path
	switch {
	case g.proxy.trusts(peer):
		g.takeUser(w, r, pages)
	case g.proxy.closes(peer):
		g.answer(w, r, throughProxy)
	case g.token != "" && asked == "/" && r.URL.Query().Has("token"):
		g.takeToken(w, r, r.URL.Query().Get("token"), "/")
	case g.issuer != nil && asked == loginPath:
		g.startLogin(w, r)
	case g.issuer != nil && asked == callbackPath:
		g.endLogin(w, r)
	default:
		g.takeCredentials(w, r, pages)
	}
}

type viewerKey struct{}

// viewer is the person or script that looks.
type viewer struct {
	name    string
	session bool // whether a cookie of ours keeps a session
}

// Viewer returns who looks: "token", the user that the proxy names, or the user that the issuer names,
// by verified e-mail address or else by subject. It is empty outside of Protect.
func Viewer(ctx context.Context) string {
	who, _ := ctx.Value(viewerKey{}).(viewer)
	return who.name
}

// show serves the pages. A page that stays open, such as a stream of events, ends with the
// session.
func (g *Guard) show(w http.ResponseWriter, r *http.Request, pages http.Handler, who viewer, ends time.Time) {
	ctx, cancel := context.WithTimeout(context.WithValue(r.Context(), viewerKey{}, who), ends.Sub(g.now()))
	defer cancel()
	r = r.WithContext(ctx)
	r.Header = r.Header.Clone()
	r.Header.Del("Authorization")
	if g.proxy.isSet() {
		r.Header.Del(g.proxy.header)
	}
	pages.ServeHTTP(w, r)
}

// enter begins a session and sends the browser to a page. After a redirect from another site a
// browser withholds the new cookie, because it is SameSite=Strict: the other site still counts as
// the sender. So in this case a page of ours sends the browser on.
func (g *Guard) enter(w http.ResponseWriter, r *http.Request, viewer string, ends time.Time, to string) {
	if latest := g.now().Add(sessionTime); ends.After(latest) {
		ends = latest
	}
	g.logger.InfoContext(r.Context(), "somebody logged in to the console", "viewer", viewer, "peer", peerOf(r).String())
	g.setCookie(w, r, sessionCookie, rand.Text()+" "+viewer, ends, http.SameSiteStrictMode)
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" {
		w.Header().Set("Refresh", "0;url="+to)
		g.answer(w, r, loggedIn(to))
		return
	}
	w.Header().Set("Location", to)
	w.WriteHeader(http.StatusSeeOther)
}
