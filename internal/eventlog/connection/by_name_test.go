package connection_test

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/connection"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// A resolver gives up a DNS server only after this time.
const patienceOfResolvers = 5 * time.Second

func TestASilentDNSServerHoldsUpAConnectionForItsTimeOnly(t *testing.T) {
	t.Parallel()
	limits := make(chan time.Time, 100)
	silent := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		limit, _ := ctx.Deadline()
		limits <- limit
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	var options nats.Options
	require.NoError(t, connection.NewDialer(&connection.ByName{Timeout: time.Second, Resolver: silent}, wait.Timeout).Use(&options))
	require.True(t, options.SkipHostLookup, "nats.go has no limit for a name")
	began := time.Now()
	_, err := options.CustomDialer.Dial("tcp", "nats.invalid:4222")
	require.Error(t, err)
	require.Less(t, (<-limits).Sub(began), patienceOfResolvers)
}

func TestAServerIsFoundByItsName(t *testing.T) {
	t.Parallel()
	s := startServer(t, server.Options{})
	_, port, err := net.SplitHostPort(s.Addr().String())
	require.NoError(t, err)
	conn, err := (&connection.ByName{Timeout: wait.Timeout}).Dial("tcp", net.JoinHostPort("localhost", port))
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}
