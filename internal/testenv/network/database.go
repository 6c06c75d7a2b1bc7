package network

import (
	"net"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// ToDatabase returns a proxy to a database, and the connection string through it.
func ToDatabase(t testing.TB, dsn string) (*Proxy, string) {
	t.Helper()
	config, err := pgx.ParseConfig(dsn)
	require.NoError(t, err)
	upstream := net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port)))
	if strings.HasPrefix(config.Host, "/") {
		upstream = config.Host + "/.s.PGSQL." + strconv.Itoa(int(config.Port))
	}
	proxy := NewProxy(t, upstream)
	through := url.URL{Scheme: "postgres", User: url.UserPassword(config.User, config.Password), Host: proxy.Address(), Path: config.Database}
	return proxy, through.String()
}
