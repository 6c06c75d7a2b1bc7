//go:build linux

package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// makeCertificates makes the certificates that stack/secrets.sh would make. They are valid since
// yesterday, because a program whose clock is behind refuses a new certificate.
func makeCertificates(t testing.TB, folder string) {
	t.Helper()
	began := time.Now().AddDate(0, 0, -1)
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "payfold stack"}, NotBefore: began, NotAfter: began.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	key := newKey(t)
	writeCertificate(t, folder, "ca", authority, authority, key, key)
	for number, hosts := range map[int64][]string{2: {"nats-1", "nats-2", "nats-3", alone}, 3: {"postgres-1", "postgres-2"}, 4: {"localhost"}} {
		name := map[int64]string{2: "nats", 3: "postgres", 4: "proxy"}[number]
		writeCertificate(t, folder, name, &x509.Certificate{
			SerialNumber: big.NewInt(number), Subject: pkix.Name{CommonName: hosts[0]}, NotBefore: began, NotAfter: began.AddDate(1, 0, 0),
			DNSNames: hosts, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		}, authority, newKey(t), key)
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	return key
}

func writeCertificate(t testing.TB, folder, name string, template, authority *x509.Certificate, key, signer *ecdsa.PrivateKey) {
	t.Helper()
	certificate, err := x509.CreateCertificate(rand.Reader, template, authority, key.Public(), signer)
	require.NoError(t, err)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	for file, block := range map[string]*pem.Block{
		name + ".pem": {Type: "CERTIFICATE", Bytes: certificate}, name + ".key": {Type: "PRIVATE KEY", Bytes: private},
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, file), pem.EncodeToMemory(block), 0o600))
	}
}
