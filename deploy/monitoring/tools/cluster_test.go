package tools

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startCluster starts a NATS server with a certificate, and an ingest whose log it has: what only a log
// outside of ingest has metrics of.
func (r *run) startCluster() {
	dir := r.t.TempDir()
	certificate := filepath.Join(dir, "cert.pem")
	writeCertificate(r.t, certificate, filepath.Join(dir, "key.pem"))
	config := filepath.Join(dir, "nats.conf")
	require.NoError(r.t, os.WriteFile(config, fmt.Appendf(nil, `listen: "127.0.0.1:-1", ports_file_dir: %q
		jetstream: {store_dir: %q}, tls: {cert_file: %q, key_file: %q}`, dir, dir, certificate, filepath.Join(dir, "key.pem")), 0o600))
	command(r.t, "go", "build", "-o", filepath.Join(r.bin, "nats-server"), "github.com/nats-io/nats-server/v2")
	server := exec.Command(filepath.Join(r.bin, "nats-server"), "-c", config)
	require.NoError(r.t, server.Start())
	r.t.Cleanup(func() {
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	env := []string{
		"NATS_URL=" + portOf(r.t, dir), "SSL_CERT_FILE=" + certificate, "STREAM_REPLICAS=1", "EMBEDDED_NATS_ADDR=",
		"ARCHIVE_URL=none", "LOG_KEEP=", "DATA_DIR=" + dir,
	}
	r.programWith(env, "ingest", "create-stream")
	r.start("ingest", "listen_addr", env...)
}

// portOf waits for the file in which the server writes where it listens.
func portOf(t *testing.T, dir string) string {
	t.Helper()
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		require.Less(t, time.Since(began), timeout)
		files, err := filepath.Glob(filepath.Join(dir, "*.ports"))
		require.NoError(t, err)
		if len(files) == 0 {
			continue
		}
		text, err := os.ReadFile(files[0])
		require.NoError(t, err)
		var ports struct{ Nats []string }
		if json.Unmarshal(text, &ports) == nil && len(ports.Nats) > 0 {
			_, address, _ := strings.Cut(ports.Nats[0], "://")
			return "tls://" + address
		}
	}
}

// writeCertificate makes a certificate of 127.0.0.1 that is its own authority.
func writeCertificate(t *testing.T, certificate, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(90 * 24 * time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(certificate, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}), 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), 0o600))
}
