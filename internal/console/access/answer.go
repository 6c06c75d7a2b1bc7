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
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Links  []link `json:"-"`
	Form   string `json:"-"` // the page that opens when somebody enters the token; empty: no form
}

type link struct{ To, Text string }

var (
	wrongHost = answer{
		Status: http.StatusMisdirectedRequest, Title: "This is not an address of the console",
		Detail: "The console answers on the loopback interface, at CONSOLE_PUBLIC_URL, and under the names in CONSOLE_HOSTS.",
	}
	wrongMethod  = answer{Status: http.StatusMethodNotAllowed, Title: "The console only reads", Detail: "Use GET or HEAD for its pages."}
	otherSite    = answer{Status: http.StatusForbidden, Title: "Another site asked for this", Detail: "Pages of other sites cannot load anything from the console. Open its address."}
	throughProxy = answer{Status: http.StatusUnauthorized, Title: "Open the console through its proxy", Detail: "The console knows its users from a proxy. This request did not come from there."}
	unnamed      = answer{Status: http.StatusUnauthorized, Title: "The proxy names no user", Detail: "The proxy before the console sent no readable name in the header of CONSOLE_PROXY_HEADER. Log in at the proxy."}
	wrongToken   = answer{Status: http.StatusUnauthorized, Title: "The token is wrong", Detail: "A token that the console made itself ends when it stops. Its newest link is printed where it was started."}
	tooMany      = answer{Status: http.StatusTooManyRequests, Title: "Too many failed attempts", Detail: "The right token and running sessions still work."}
	issuerAway   = answer{Status: http.StatusServiceUnavailable, Title: "The issuer does not answer", Detail: "Nobody can log in at this moment. The log of the console says why.", Links: []link{{loginPath, "Try again"}}}
	failedLogin  = answer{Status: http.StatusUnauthorized, Title: "The login failed", Detail: "It may have taken too long, or it was done before. The log of the console says why.", Links: []link{{loginPath, "Log in again"}}}
	notAllowed   = answer{Status: http.StatusForbidden, Title: "You may not look", Detail: "The issuer knows you, but CONSOLE_OIDC_ALLOWED does not have your verified e-mail address.", Links: []link{{loginPath, "Log in as somebody else"}}}
)

func loggedIn(to string) answer {
	return answer{Status: http.StatusOK, Title: "You are logged in", Detail: "The console opens now.", Links: []link{{to, "Continue"}}}
}

// loggedOut tells somebody without a session how to log in.
func (g *Guard) loggedOut(r *http.Request) answer {
	out := answer{Status: http.StatusUnauthorized, Title: "Log in"}
	switch {
	case g.token == "" && g.issuer == nil:
		return throughProxy
	case g.issuer != nil:
		out.Detail = "You are not logged in, or your session has ended."
		out.Links = []link{{loginPath + "?to=" + url.QueryEscape(here(r)), "Log in at " + g.issuer.name()}}
	case g.made:
		out.Detail = "Open the link that was printed where the console was started, or enter the token in it."
		out.Form = here(r)
	default:
		out.Detail = "Enter the console's token (CONSOLE_TOKEN)."
		out.Form = here(r)
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" { // the browser has withheld the cookie
		out.Detail = "If you are logged in, continue. " + out.Detail
		out.Links = append([]link{{here(r), "Continue"}}, out.Links...)
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
	header.Set("Vary", "Accept")
	if WantsJSON(r) {
		header.Set("Content-Type", "application/problem+json")
		err = json.NewEncoder(&body).Encode(a)
	} else {
		header.Set("Content-Type", "text/html; charset=utf-8")
		err = page.Execute(&body, a)
	}
	if err != nil {
		panic(err) // strings and numbers only
	}
	switch a.Status {
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", `Bearer realm="payfold console"`)
	case http.StatusMethodNotAllowed:
		header.Set("Allow", "GET, HEAD")
	case http.StatusTooManyRequests:
		header.Set("Retry-After", strconv.Itoa(int(failureInterval/time.Second)))
	}
	w.WriteHeader(a.Status)
	_, _ = w.Write(body.Bytes()) // fails if the sender has closed the connection
}

// WantsJSON reports whether a script asks for JSON. Browsers name text/html.
func WantsJSON(r *http.Request) bool {
	accept := r.Header.Get("Accept")
	return strings.Contains(accept, "json") && !strings.Contains(accept, "text/html")
}
