package access

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Config says who may look. The names of the variables are those of the command that serves the
// console.
type Config struct {
	// Token opens the console (CONSOLE_TOKEN). If it is empty and there is neither a proxy nor an
	// issuer, New makes one.
	Token string
	// Hosts are the names, with or without a port, under which people ask for the console
	// (CONSOLE_HOSTS). localhost, loopback addresses and the host of PublicURL always count.
	Hosts []string
	// PublicURL is where people find the console (CONSOLE_PUBLIC_URL), if that is not the address
	// on which it listens.
	PublicURL string
	// ProxyHeader is where a trusted proxy names the user (CONSOLE_PROXY_HEADER).
	ProxyHeader string
	// TrustedProxies are the addresses of those proxies, or prefixes such as 10.0.0.0/8
	// (CONSOLE_TRUSTED_PROXIES).
	TrustedProxies []string
	OIDC           OIDC
	Now            func() time.Time // nil: time.Now
}

// OIDC is the client of an OpenID Connect issuer (CONSOLE_OIDC_…). An empty Issuer means none.
type OIDC struct {
	Issuer       string
	ClientID     string
	ClientSecret string // empty for a public client
	// Allowed are e-mail addresses, or domains such as @example.com. Only verified addresses
	// count. If it is empty, everybody whom the issuer lets in may look.
	Allowed []string
}

// minTokenLength: a token is protected by its length, because senders of wrong tokens are not
// blocked. 20 random characters of base64 are 120 bits.
const minTokenLength = 20

var tokenText = regexp.MustCompile(`^[A-Za-z0-9._~-]*$`)

// Check returns all faults of the configuration, joined.
func (c Config) Check() error {
	var faults []error
	add := func(format string, args ...any) { faults = append(faults, fmt.Errorf(format, args...)) }
	if c.Token != "" && len(c.Token) < minTokenLength {
		add("CONSOLE_TOKEN has %d characters, must have at least %d", len(c.Token), minTokenLength)
	}
	if !tokenText.MatchString(c.Token) {
		add("CONSOLE_TOKEN may have letters, digits and - . _ ~ only, because it stands in a link")
	}
	for _, host := range c.Hosts {
		if _, err := parseHost(host); err != nil {
			add("CONSOLE_HOSTS: %q is neither a host nor host:port", host)
		}
	}
	if c.PublicURL != "" && !isOrigin(c.PublicURL) {
		add("CONSOLE_PUBLIC_URL is %q, which is not https://HOST (http only on the loopback interface)", c.PublicURL)
	}
	c.checkProxy(add)
	c.checkOIDC(add)
	return errors.Join(faults...)
}

var headerName = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

// unusable are headers that have another meaning.
var unusable = []string{"authorization", "cookie", "host"}

func (c Config) checkProxy(add func(string, ...any)) {
	if (c.ProxyHeader == "") != (len(c.TrustedProxies) == 0) {
		add("CONSOLE_PROXY_HEADER and CONSOLE_TRUSTED_PROXIES: set both or neither")
	}
	if c.ProxyHeader != "" && (!headerName.MatchString(c.ProxyHeader) || slices.Contains(unusable, strings.ToLower(c.ProxyHeader))) {
		add("CONSOLE_PROXY_HEADER is %q, which cannot be the header of a user", c.ProxyHeader)
	}
	for _, text := range c.TrustedProxies {
		if _, err := parsePrefix(text); err != nil {
			add("CONSOLE_TRUSTED_PROXIES: %q %w", text, err)
		}
	}
	if c.ProxyHeader != "" && c.OIDC.Issuer != "" {
		add("CONSOLE_PROXY_HEADER and CONSOLE_OIDC_ISSUER are both set: only one of them can say who looks")
	}
}

// permission is an e-mail address, or @ and a domain.
var permission = regexp.MustCompile(`^[^@\s]*@[^@\s]+$`)

func (c Config) checkOIDC(add func(string, ...any)) {
	if c.OIDC.Issuer == "" {
		if c.OIDC.ClientID != "" || c.OIDC.ClientSecret != "" || len(c.OIDC.Allowed) > 0 {
			add("CONSOLE_OIDC_ISSUER is not set, but other variables CONSOLE_OIDC_… are")
		}
		return
	}
	if issuer, err := url.Parse(c.OIDC.Issuer); err != nil || !isSafe(issuer) {
		add("CONSOLE_OIDC_ISSUER is %q, which is not an https address (http only on the loopback interface)", c.OIDC.Issuer)
	}
	if c.OIDC.ClientID == "" {
		add("CONSOLE_OIDC_CLIENT_ID is not set, but CONSOLE_OIDC_ISSUER is")
	}
	if c.PublicURL == "" {
		add("CONSOLE_PUBLIC_URL is not set, but CONSOLE_OIDC_ISSUER is: the issuer sends people back to it")
	}
	for _, text := range c.OIDC.Allowed {
		if !permission.MatchString(text) {
			add("CONSOLE_OIDC_ALLOWED: %q is neither an e-mail address nor a domain such as @example.com", text)
		}
	}
}

// isOrigin reports whether text is a safe URL without a path.
func isOrigin(text string) bool {
	u, err := url.Parse(text)
	return err == nil && isSafe(u) && (u.Path == "" || u.Path == "/")
}

// isSafe reports whether nobody on the network can read what is sent to the URL.
func isSafe(u *url.URL) bool {
	host, err := parseHost(u.Host)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return u.Scheme == "https" || u.Scheme == "http" && host.isLoopback()
}

// parsePrefix reads an address or a prefix.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	switch {
	case err != nil || prefix.Addr().Is4In6():
		return prefix, errors.New("is neither an address nor a prefix such as 10.0.0.0/8")
	case prefix.Bits() == 0:
		return prefix, errors.New("would let everybody name any user")
	}
	return prefix.Masked(), nil
}
