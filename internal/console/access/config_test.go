package access_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console/access"
)

func TestAllFaultsOfAConfigurationAreSaid(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config access.Config
		faults []string
	}{
		"a short token": {access.Config{Token: "short"}, []string{"CONSOLE_TOKEN has 5 characters, must have at least 20"}},
		"a token that no link can have": {
			access.Config{Token: "a token with spaces+/="}, []string{"CONSOLE_TOKEN may have letters, digits and - . _ ~ only, because it stands in a link"},
		},
		"hosts": {access.Config{Hosts: []string{"https://a.example", "*", "a b", "a.example/", "a.example:http", ""}}, []string{
			`CONSOLE_HOSTS: "https://a.example" is neither a host nor host:port`, `CONSOLE_HOSTS: "*" is neither a host nor host:port`,
			`CONSOLE_HOSTS: "a b" is neither a host nor host:port`, `CONSOLE_HOSTS: "a.example/" is neither a host nor host:port`,
			`CONSOLE_HOSTS: "a.example:http" is neither a host nor host:port`, `CONSOLE_HOSTS: "" is neither a host nor host:port`,
		}},
		"a public URL without TLS": {
			access.Config{PublicURL: "http://a.example"}, []string{`CONSOLE_PUBLIC_URL is "http://a.example", which is not https://HOST (http only on the loopback interface)`},
		},
		"a public URL with a path": {
			access.Config{PublicURL: "https://a.example/console"}, []string{`CONSOLE_PUBLIC_URL is "https://a.example/console", which is not https://HOST (http only on the loopback interface)`},
		},
		"a public URL with a user, a query or a fragment": {
			access.Config{PublicURL: "https://u@a.example?q#f"}, []string{`CONSOLE_PUBLIC_URL is "https://u@a.example?q#f", which is not https://HOST (http only on the loopback interface)`},
		},
		"a proxy's header alone":   {access.Config{ProxyHeader: "Remote-User"}, []string{"CONSOLE_PROXY_HEADER and CONSOLE_TRUSTED_PROXIES: set both or neither"}},
		"proxies without a header": {access.Config{TrustedProxies: []string{"10.0.0.1"}}, []string{"CONSOLE_PROXY_HEADER and CONSOLE_TRUSTED_PROXIES: set both or neither"}},
		"a header of something else": {
			access.Config{ProxyHeader: "Cookie", TrustedProxies: []string{"10.0.0.1"}}, []string{`CONSOLE_PROXY_HEADER is "Cookie", which cannot be the header of a user`},
		},
		"proxies that are none": {access.Config{ProxyHeader: "a b", TrustedProxies: []string{"0.0.0.0/0", "::/0", "proxy", "10.0.0.1/33", "::ffff:10.0.0.0/104", "fe80::1%eth0"}}, []string{
			`CONSOLE_PROXY_HEADER is "a b", which cannot be the header of a user`,
			`CONSOLE_TRUSTED_PROXIES: "0.0.0.0/0" would let everybody name any user`, `CONSOLE_TRUSTED_PROXIES: "::/0" would let everybody name any user`,
			`CONSOLE_TRUSTED_PROXIES: "proxy" is neither an address nor a prefix such as 10.0.0.0/8`,
			`CONSOLE_TRUSTED_PROXIES: "10.0.0.1/33" is neither an address nor a prefix such as 10.0.0.0/8`,
			`CONSOLE_TRUSTED_PROXIES: "::ffff:10.0.0.0/104" is neither an address nor a prefix such as 10.0.0.0/8`,
			`CONSOLE_TRUSTED_PROXIES: "fe80::1%eth0" is neither an address nor a prefix such as 10.0.0.0/8`,
		}},
		"a proxy and an issuer": {
			access.Config{
				ProxyHeader: "Remote-User", TrustedProxies: []string{"10.0.0.1"}, PublicURL: "https://a.example",
				OIDC: access.OIDC{Issuer: "https://issuer.example/realm", ClientID: "a"},
			},
			[]string{"CONSOLE_PROXY_HEADER and CONSOLE_OIDC_ISSUER are both set: only one of them can say who looks"},
		},
		"a client without an issuer": {access.Config{OIDC: access.OIDC{ClientID: "a"}}, []string{"CONSOLE_OIDC_ISSUER is not set, but other variables CONSOLE_OIDC_… are"}},
		"an issuer alone": {access.Config{OIDC: access.OIDC{Issuer: "http://issuer.example", Allowed: []string{"example.com", "a@b@c"}}}, []string{
			`CONSOLE_OIDC_ISSUER is "http://issuer.example", which is not an https address (http only on the loopback interface)`,
			"CONSOLE_OIDC_CLIENT_ID is not set, but CONSOLE_OIDC_ISSUER is",
			"CONSOLE_PUBLIC_URL is not set, but CONSOLE_OIDC_ISSUER is: the issuer sends people back to it",
			`CONSOLE_OIDC_ALLOWED: "example.com" is neither an e-mail address nor a domain such as @example.com`,
			`CONSOLE_OIDC_ALLOWED: "a@b@c" is neither an e-mail address nor a domain such as @example.com`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := access.New(t.Context(), c.config, slog.New(slog.DiscardHandler))
			require.Error(t, err)
			require.Equal(t, c.faults, strings.Split(err.Error(), "\n"))
		})
	}
}
