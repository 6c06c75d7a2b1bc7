package access_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console/access"
)

const user = "Remote-User"

func behindProxy(t *testing.T) *world {
	return setup(t, access.Config{
		Token: token, Hosts: []string{"console.example.com"}, ProxyHeader: user, TrustedProxies: []string{"10.1.0.0/16", "::ffff:10.9.9.9", "fd00::1"},
	})
}

func TestATrustedProxyNamesWhoLooks(t *testing.T) {
	t.Parallel()
	w := behindProxy(t)
	for _, peer := range []string{"10.1.2.3:4", "[::ffff:10.1.2.3]:4", "10.9.9.9:4", "[fd00::1]:4", "[fd00::1%eth0]:4"} {
		require.Equal(t, "zoë@example.com", w.viewer("/", from(peer), to("console.example.com"), with(user, "zoë@example.com ")), peer)
		require.Empty(t, w.seen.Header.Values(user))
	}
}

func TestAProxyThatNamesNobodyIsRefused(t *testing.T) {
	t.Parallel()
	for name, changes := range map[string][]change{
		"no header":  nil,
		"empty":      {with(user, "")},
		"spaces":     {with(user, "  ")},
		"two":        {with(user, "a"), with(user, "b")},
		"too long":   {with(user, strings.Repeat("a", 321))},
		"no UTF-8":   {with(user, "a\xff")},
		"bidi":       {with(user, "a\u202eb")},
		"a tab":      {with(user, "a\tb")},
		"the token":  {with("Authorization", "Bearer "+token)},
		"other name": {with("Remote_User", "a")},
	} {
		w := behindProxy(t)
		text := w.refused(http.StatusUnauthorized, "/", append(changes, from("10.1.2.3:4"))...)
		require.Contains(t, text, "The proxy names no user", name)
	}
}

func TestAnybodyElseCanNameNobody(t *testing.T) {
	t.Parallel()
	w := behindProxy(t)
	session := w.session()
	for _, peer := range []string{"10.2.0.1:4", "[fd00::2]:4", "192.0.2.1:4", "@", ""} {
		w.refused(http.StatusUnauthorized, "/", from(peer), with(user, "root"))
		w.refused(http.StatusUnauthorized, "/", from(peer), with(user, "root"), with("X-Forwarded-For", "10.1.2.3"), with("Forwarded", "for=10.1.2.3"))
		w.refused(http.StatusUnauthorized, "/?token="+token, from(peer))
		w.refused(http.StatusUnauthorized, "/", from(peer), with("Authorization", "Bearer "+token))
		w.refused(http.StatusUnauthorized, "/", from(peer), cookie(session))
	}
}

func TestTheTokenOpensAConsoleBehindAProxyFromItsOwnMachine(t *testing.T) {
	t.Parallel()
	w := behindProxy(t)
	require.Equal(t, "token", w.viewer("/", cookie(w.session()), with(user, "root")))
	require.Empty(t, w.seen.Header.Values(user))
	require.Equal(t, "token", w.viewer("/", with("Authorization", "Bearer "+token)))
}

func TestBehindAProxyNoTokenIsMade(t *testing.T) {
	t.Parallel()
	w := setup(t, access.Config{ProxyHeader: user, TrustedProxies: []string{"10.1.0.0/16"}})
	require.Equal(t, "http://x/", w.guard.Link("http://x"))
	require.Contains(t, w.refused(http.StatusUnauthorized, "/"), "Open the console through its proxy")
	w.refused(http.StatusUnauthorized, "/?token=")
	w.refused(http.StatusUnauthorized, "/", with("Authorization", "Bearer "))
}
