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

// Config says who may look. It is also the flags of the command that serves the console.
type Config struct {
	Token          string `name:"console-token" env:"CONSOLE_TOKEN" help:"Token that opens the console, at least 20 letters, digits and -._~; by default one is made and its link printed."`
	TokenFile      string `name:"console-token-file" env:"CONSOLE_TOKEN_FILE" help:"File that holds the token."`
	Hosts          List   `name:"console-hosts" env:"CONSOLE_HOSTS" help:"Names under which the console answers besides localhost, with or without a port, separated by commas."`
	PublicURL      string `name:"console-public-url" env:"CONSOLE_PUBLIC_URL" help:"Where people find the console behind a reverse proxy, https://HOST; its cookies are then for TLS only."`
	ProxyHeader    string `name:"console-proxy-header" env:"CONSOLE_PROXY_HEADER" help:"Header in which a trusted proxy names the user; needs console-trusted-proxies."`
	TrustedProxies List   `name:"console-trusted-proxies" env:"CONSOLE_TRUSTED_PROXIES" help:"Addresses or prefixes of those proxies, separated by commas."`
	OIDC           OIDC   `embed:""`

	Now func() time.Time `kong:"-"` // nil: time.Now
}

// OIDC is the client of an OpenID Connect issuer. An empty Issuer means none.
type OIDC struct {
	Issuer           string `name:"console-oidc-issuer" env:"CONSOLE_OIDC_ISSUER" help:"OpenID Connect issuer where people log in; needs a client id and console-public-url."`
	ClientID         string `name:"console-oidc-client-id" env:"CONSOLE_OIDC_CLIENT_ID" help:"The console's client id there."`
	ClientSecret     string `name:"console-oidc-client-secret" env:"CONSOLE_OIDC_CLIENT_SECRET" help:"The client's secret; a public client has none."`
	ClientSecretFile string `name:"console-oidc-client-secret-file" env:"CONSOLE_OIDC_CLIENT_SECRET_FILE" help:"File that holds the client's secret."`
	Allowed          List   `name:"console-oidc-allowed" env:"CONSOLE_OIDC_ALLOWED" help:"Who may look: verified e-mail addresses, or domains such as @example.com, separated by commas; by default everyone whom the issuer lets in."`
}

// List is a list of texts that are separated by commas.
type List []string

// UnmarshalText implements encoding.TextUnmarshaler. The list of a text that names nothing is not nil.
func (l *List) UnmarshalText(text []byte) error {
	if *l = (List{}); len(text) == 0 {
		*l = nil
	}
	for part := range strings.SplitSeq(string(text), ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	return nil
}

// minTokenLength: a token is protected by its length, because senders of wrong tokens are not
// blocked. 20 random characters of base64 are 120 bits.
const minTokenLength = 20

var tokenText = regexp.MustCompile(`^[A-Za-z0-9._~-]*$`)

// Check returns all faults of the configuration, joined. It reads no file.
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
	if c.OIDC.Allowed != nil && len(c.OIDC.Allowed) == 0 { // an empty list would let everybody in
		add("CONSOLE_OIDC_ALLOWED names nobody")
	}
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
