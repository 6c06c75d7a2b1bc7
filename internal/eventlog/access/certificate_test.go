package access

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// share copies what a reader needs of a data directory, except the socket.
func share(t *testing.T, dataDir, address string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(privatePath(dir), 0o700))
	for _, file := range []string{"nats.token", "nats/cert.pem"} {
		text, err := os.ReadFile(filepath.Join(dataDir, file))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), text, 0o600))
	}
	require.NoError(t, os.WriteFile(addressFile(dir), []byte(address), 0o600))
	return dir
}

func TestWhereTheSocketCannotBeHadReadersComeOverTCP(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := open(t, dir, "127.0.0.1:0")
	require.IsType(t, &net.UnixConn{}, requireGreeted(t, dir))
	require.IsType(t, &tls.Conn{}, requireGreeted(t, share(t, dir, g.Address())))
}

// otherPair makes a certificate that is not the log's.
func otherPair(t *testing.T) tls.Certificate {
	t.Helper()
	certificate, key, err := makePair()
	require.NoError(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	require.NoError(t, err)
	return pair
}

// A server's own claims without a certificate are ignored.
func TestAServerThatCannotProveItselfIsToldNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, err := makePrivate(dir)
	require.NoError(t, err)
	defer folder.Close()
	quiet := slog.New(slog.DiscardHandler)
	real, err := folder.certificate(quiet)
	require.NoError(t, err)
	token, err := EnsureToken(dir, quiet)
	require.NoError(t, err)
	foreign := otherPair(t)
	for name, config := range map[string]*tls.Config{
		"a server in clear":                nil,
		"with a certificate of its own":    {Certificates: []tls.Certificate{foreign}},
		"with ours and a key of its own":   {Certificates: []tls.Certificate{{Certificate: real.Certificate, PrivateKey: foreign.PrivateKey}}},
		"with ours behind its own":         {Certificates: []tls.Certificate{{Certificate: [][]byte{foreign.Certificate[0], real.Certificate[0]}, PrivateKey: foreign.PrivateKey}}},
		"with ours and an older TLS alone": {Certificates: []tls.Certificate{real}, MaxVersion: tls.VersionTLS12},
	} {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		heard := make(chan []byte, 1)
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				close(heard)
				return
			}
			defer conn.Close()
			if config == nil {
				_, _ = io.WriteString(conn, `INFO {"server_id":"X","version":"2.15.2","proto":1,"headers":true,"tls_required":false,"auth_required":true}`+"\r\n")
			} else {
				conn = tls.Server(conn, config)
			}
			said, _ := io.ReadAll(conn)
			heard <- said
		}()
		_, err = dial(share(t, dir, listener.Addr().String()))
		require.ErrorIs(t, err, ErrUntrusted, name)
		require.ErrorContains(t, err, "the server at "+listener.Addr().String()+" is not the ingest of", name)
		require.NotContains(t, string(<-heard), token, name)
		require.NoError(t, listener.Close())
	}
}

func TestTheCertificateIsMadeOnceAndNoClockEndsIt(t *testing.T) {
	t.Parallel()
	folder, err := makePrivate(t.TempDir())
	require.NoError(t, err)
	defer folder.Close()
	quiet := slog.New(slog.DiscardHandler)
	first, err := folder.certificate(quiet)
	require.NoError(t, err)
	parsed, err := x509.ParseCertificate(first.Certificate[0])
	require.NoError(t, err)
	require.Less(t, parsed.NotBefore.Year(), 1971)
	require.Equal(t, 9999, parsed.NotAfter.Year())
	again, err := folder.certificate(quiet)
	require.NoError(t, err)
	require.Equal(t, first.Certificate, again.Certificate)

	for name, harm := range map[string]func() error{
		"the key is lost":             func() error { return os.Remove(folder.name(keyName)) },
		"the certificate is lost":     func() error { return os.Remove(folder.name(certificateName)) },
		"others could read the key":   func() error { return os.Chmod(folder.name(keyName), 0o640) },
		"the key was never completed": func() error { return os.Rename(folder.name(keyName), folder.name(keyName)+".new") },
	} {
		require.NoError(t, harm(), name)
		another, err := folder.certificate(quiet)
		require.NoError(t, err, name)
		require.NotEqual(t, again.Certificate, another.Certificate, name)
		again = another
	}
	require.NoError(t, os.WriteFile(folder.name(keyName), []byte("nonsense"), 0o600))
	_, err = folder.certificate(quiet)
	require.ErrorContains(t, err, "remove "+filepath.Join(folder.path, certificateName))
}

// A wrong clock, on either side, does not prevent a connection.
func TestAnExpiredCertificateIsAsGoodAsAny(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g := open(t, dir, "127.0.0.1:0")
	folder, err := openPrivate(share(t, dir, g.Address()))
	require.NoError(t, err)
	defer folder.Close()
	pin, err := folder.pin()
	require.NoError(t, err)
	pin.Time = func() time.Time { return time.Date(12000, 1, 1, 0, 0, 0, 0, time.UTC) }
	conn, err := tls.Dial("tcp", g.Address(), pin)
	require.NoError(t, err)
	require.NoError(t, conn.Close())
}
