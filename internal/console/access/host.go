package access

import (
	"errors"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// host is what a browser asks for: a name or an address, and a port if one is given.
type host struct{ name, port string }

var hostName = regexp.MustCompile(`^[a-z0-9_]([a-z0-9_.-]*[a-z0-9_])?$`)

var errNoHost = errors.New("not a host")

// parseHost reads the value of a Host header. It is strict: a browser writes a name in one way.
func parseHost(text string) (host, error) {
	text = strings.ToLower(text)
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is6() {
		text = "[" + text + "]" // as people write it in a list
	}
	u, err := url.Parse("//" + text)
	if err != nil || u.Host != text {
		return host{}, errNoHost
	}
	out := host{u.Hostname(), u.Port()}
	if _, err := netip.ParseAddr(out.name); err != nil && !hostName.MatchString(out.name) {
		return host{}, errNoHost
	}
	return out, nil
}

// hostsOf returns the configured names.
func hostsOf(config Config) []host {
	var out []host
	for _, text := range config.Hosts {
		name, _ := parseHost(text)
		out = append(out, name)
	}
	return out
}

func (h host) isLoopback() bool {
	addr, err := netip.ParseAddr(h.name)
	return h.name == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// isOneOf reports whether the console is configured to answer under this name. This excludes a site
// of the internet whose name leads to this machine (DNS rebinding). Loopback names may have any
// port, for tunnels and containers.
func (h host) isOneOf(known []host) bool {
	return h.isLoopback() || slices.ContainsFunc(known, func(k host) bool {
		return k.name == h.name && (k.port == "" || k.port == h.port)
	})
}
