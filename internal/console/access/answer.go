package access

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// answer is a page of the Guard's own. It says what is wrong and what to do.
type answer struct {
	status int
	title  string
	detail string
	links  []link
	form   string // the page that opens when somebody enters the token; empty: no form
}

type link struct{ To, Text string }

var (
	wrongHost = answer{
		status: http.StatusMisdirectedRequest, title: "This is not an address of the console",
		detail: "The console answers on the loopback interface, at CONSOLE_PUBLIC_URL, and under the names in CONSOLE_HOSTS.",
	}
	wrongMethod  = answer{status: http.StatusMethodNotAllowed, title: "The console only reads", detail: "Use GET or HEAD for its pages."}
	otherSite    = answer{status: http.StatusForbidden, title: "Another site asked for this", detail: "Pages of other sites cannot load anything from the console. Open its address."}
	throughProxy = answer{status: http.StatusUnauthorized, title: "Open the console through its proxy", detail: "The console knows its users from a proxy. This request did not come from there."}
	unnamed      = answer{status: http.StatusUnauthorized, title: "The proxy names no user", detail: "The proxy before the console sent no readable name in the header of CONSOLE_PROXY_HEADER. Log in at the proxy."}
	wrongToken   = answer{status: http.StatusUnauthorized, title: "The token is wrong", detail: "A token that the console made itself ends when it stops. Its newest link is printed where it was started."}
	tooMany      = answer{status: http.StatusTooManyRequests, title: "Too many failed attempts", detail: "The right token and running sessions still work."}
	issuerAway   = answer{status: http.StatusServiceUnavailable, title: "The issuer does not answer", detail: "Nobody can log in at this moment. The log of the console says why.", links: []link{{loginPath, "Try again"}}}
	failedLogin  = answer{status: http.StatusUnauthorized, title: "The login failed", detail: "It may have taken too long, or it was done before. The log of the console says why.", links: []link{{loginPath, "Log in again"}}}
	notAllowed   = answer{status: http.StatusForbidden, title: "You may not look", detail: "The issuer knows you, but CONSOLE_OIDC_ALLOWED does not have your verified e-mail address.", links: []link{{loginPath, "Log in as somebody else"}}}
)

func loggedIn(to string) answer {
	return answer{status: http.StatusOK, title: "You are logged in", detail: "The console opens now.", links: []link{{to, "Continue"}}}
}

// loggedOut tells somebody without a session how to log in.
func (g *Guard) loggedOut(r *http.Request) answer {
	out := answer{status: http.StatusUnauthorized, title: "Log in"}
	switch {
	case g.token == "" && g.issuer == nil:
		return throughProxy
	case g.issuer != nil:
		out.detail = "You are not logged in, or your session has ended."
		out.links = []link{{loginPath + "?to=" + url.QueryEscape(here(r)), "Log in at " + g.issuer.name()}}
	case g.made:
		out.detail = "Open the link that was printed where the console was started, or enter the token in it."
		out.form = here(r)
	default:
		out.detail = "Enter the console's token (CONSOLE_TOKEN)."
		out.form = here(r)
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // the browser has withheld the cookie
		out.detail = "If you are logged in, continue. " + out.detail
		out.links = append([]link{{here(r), "Continue"}}, out.links...)
	}
	return out
}

// here is the page of a request, as a link within the console.
func here(r *http.Request) string {
	if r.URL.Path == loginPath || r.URL.Path == logoutPath {
		return "/"
	}
	return local(r.URL.RequestURI())
}

// maxLinkBytes bounds a link, because a login keeps it in a cookie, and browsers take 4096 bytes.
const maxLinkBytes = 1024

// local returns the path of a link if it stays within the console, else "/".
func local(to string) string {
	u, err := url.Parse(to)
	inside := err == nil && len(to) <= maxLinkBytes && u.Scheme == "" && u.Host == "" && u.User == nil && strings.HasPrefix(to, "/") && !strings.HasPrefix(to, "//")
	if !inside || strings.ContainsFunc(to, func(r rune) bool { return r <= ' ' || r == '\\' || r > '~' }) {
		return "/"
	}
	return to
}

//go:embed answer.html
var pageText string

var page = template.Must(template.New("answer").Parse(pageText))

// answer writes a page, or a problem document (RFC 9457) for a script that asks for JSON.
func (g *Guard) answer(w http.ResponseWriter, r *http.Request, a answer) {
	var body bytes.Buffer
	var err error
	header := w.Header()
	setHeaders(w)
	header.Set("Vary", "Accept")
	if wantsJSON(r) {
		header.Set("Content-Type", "application/problem+json")
		err = json.NewEncoder(&body).Encode(struct {
			Title  string `json:"title"`
			Status int    `json:"status"`
			Detail string `json:"detail"`
		}{a.title, a.status, a.detail})
	} else {
		header.Set("Content-Type", "text/html; charset=utf-8")
		err = page.Execute(&body, map[string]any{"Title": a.title, "Detail": a.detail, "Links": a.links, "Form": a.form})
	}
	if err != nil {
		panic(err) // strings and numbers only
	}
	switch a.status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="payfold console"`)
	case http.StatusMethodNotAllowed:
		header.Set("Allow", "GET, HEAD")
	case http.StatusTooManyRequests:
		header.Set("Retry-After", strconv.Itoa(int(failureInterval/time.Second)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(body.Bytes()) // fails if the sender has closed the connection
}

// setHeaders lets an answer of the Guard load nothing but the console's stylesheet. Browsers do not
// keep the answer, and tell its address to nobody.
func setHeaders(w http.ResponseWriter) {
	for name, value := range map[string]string{
		"Content-Security-Policy": "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		"X-Content-Type-Options":  "nosniff",
		"Referrer-Policy":         "no-referrer",
		"Cache-Control":           "no-store",
	} {
		w.Header().Set(name, value)
	}
}

// wantsJSON reports whether a script asks for JSON. Browsers name text/html.
func wantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}
