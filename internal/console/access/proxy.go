package access

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// proxy is the header of a trusted proxy. The zero value trusts nobody.
type proxy struct {
	header  string
	trusted []netip.Prefix
}

func proxyOf(config Config) proxy {
	out := proxy{header: config.ProxyHeader}
	for _, text := range config.TrustedProxies {
		prefix, _ := parsePrefix(text)
		out.trusted = append(out.trusted, prefix)
	}
	return out
}

func (p proxy) isSet() bool { return p.header != "" }

// closes reports whether the console is open to a sender only through the proxy.
func (p proxy) closes(peer netip.Addr) bool { return p.isSet() && !peer.IsLoopback() }

// trusts reports whether the sender of a request may name its user. Only the connection counts,
// no header.
func (p proxy) trusts(peer netip.Addr) bool {
	return slices.ContainsFunc(p.trusted, func(prefix netip.Prefix) bool { return prefix.Contains(peer) })
}

// user returns the user that the proxy names; false if it names nobody, or several.
func (p proxy) user(r *http.Request) (string, bool) {
	names := r.Header.Values(p.header)
	if len(names) != 1 {
		return "", false
	}
	name := strings.TrimSpace(names[0])
	return name, isName(name)
}

// takeUser serves somebody whom a trusted proxy names.
func (g *Guard) takeUser(w http.ResponseWriter, r *http.Request, pages http.Handler) {
	user, ok := g.proxy.user(r)
	if !ok {
		g.answer(w, r, unnamed)
		return
	}
	g.show(w, r, pages, viewer{name: user}, g.now().Add(sessionTime))
}

// maxNameBytes is longer than any e-mail address.
const maxNameBytes = 320

// isName reports whether a text can stand for a person, in a page and in the log.
func isName(text string) bool {
	return text != "" && len(text) <= maxNameBytes && utf8.ValidString(text) &&
		!strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// peerOf returns the address at the other end of the connection; the zero Addr if it has none.
func peerOf(r *http.Request) netip.Addr {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return at.Addr().Unmap().WithZone("")
}
