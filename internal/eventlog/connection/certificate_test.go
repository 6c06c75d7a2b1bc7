package connection_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog/connection"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

func selfSigned(t *testing.T, until time.Time) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: until,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(der)
	require.NoError(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

func startServer(t *testing.T, options server.Options) *server.Server {
	t.Helper()
	options.Host, options.Port, options.NoLog, options.NoSigs = "127.0.0.1", server.RANDOM_PORT, true, true
	s, err := server.NewServer(&options)
	require.NoError(t, err)
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	require.True(t, s.ReadyForConnections(wait.Timeout))
	return s
}

func open(t *testing.T, s *server.Server, options ...nats.Option) (*nats.Conn, *prometheus.Registry) {
	t.Helper()
	conn, err := connection.Open(s.ClientURL(), testenv.Logger(t), options...)
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	registry := prometheus.NewRegistry()
	registry.MustRegister(connection.NewCertificate(conn))
	return conn, registry
}

func startTLSServer(t *testing.T, pair tls.Certificate) *server.Server {
	t.Helper()
	return startServer(t, server.Options{TLS: true, TLSTimeout: wait.Timeout.Seconds(), TLSConfig: &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{pair},
	}})
}

func TestTheEndOfTheServersCertificateIsMeasured(t *testing.T) {
	t.Parallel()
	until := time.Now().Add(48 * time.Hour).Truncate(time.Second)
	pair, trusted := selfSigned(t, until)
	s := startTLSServer(t, pair)
	conn, registry := open(t, s, connection.NewDialer(&net.Dialer{}, wait.Timeout).Use, nats.Timeout(wait.Timeout),
		nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: trusted, ServerName: "127.0.0.1"}))
	families, err := registry.Gather()
	require.NoError(t, err)
	require.Len(t, families, 1)
	require.InDelta(t, float64(until.Unix()), families[0].GetMetric()[0].GetGauge().GetValue(), 0)

	conn.Close()
	count, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	require.Zero(t, count, "there is no value without a connection")
}

func TestWhyACertificateIsRefusedIsTold(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]struct {
		until   time.Time
		trusted bool
		name    string
	}{
		"It answers, but its certificate has expired, or is not valid yet.":                    {time.Now().Add(-time.Minute), true, "127.0.0.1"},
		"It answers, but its certificate is of an authority that this program does not trust.": {time.Now().Add(time.Hour), false, "127.0.0.1"},
		"It answers, but its certificate is for other names.":                                  {time.Now().Add(time.Hour), true, "127.0.0.2"},
	} {
		pair, pool := selfSigned(t, c.until)
		if !c.trusted {
			pool = x509.NewCertPool()
		}
		s := startTLSServer(t, pair)
		conn, err := connection.Open(s.ClientURL(), testenv.Logger(t), nats.RetryOnFailedConnect(true), nats.Timeout(wait.Timeout),
			nats.Secure(&tls.Config{MinVersion: tls.VersionTLS13, RootCAs: pool, ServerName: c.name}))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		wait.Until(t, func() bool { return connection.CertificateFault(conn.LastError()) != "" })
		require.Equal(t, want, connection.CertificateFault(conn.LastError()))
	}
}

func TestAConnectionWithoutTLSHasNoCertificate(t *testing.T) {
	t.Parallel()
	_, registry := open(t, startServer(t, server.Options{}))
	count, err := testutil.GatherAndCount(registry)
	require.NoError(t, err)
	require.Zero(t, count)
}
