package access

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	certificateName = "cert.pem"
	keyName         = "key.pem"
)

// certificate returns the pair with which the embedded log proves its identity over TCP.
// It is created once and never expires, because readers compare it with the file instead
// of looking at its dates. If a file is missing, or others could read the key, both files
// are replaced. Readers read the certificate at each connection.
func (p *private) certificate(logger *slog.Logger) (tls.Certificate, error) {
	certificate, key, err := p.readPair()
	if errors.Is(err, ErrUntrusted) {
		logger.Warn("the certificate of the embedded log is replaced", "error", err)
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, ErrUntrusted) {
		if certificate, key, err = makePair(); err == nil {
			// In this order, a certificate never exists without its key.
			err = errors.Join(os.RemoveAll(p.name(certificateName)),
				writeFile(p.name(keyName), string(key)), writeFile(p.name(certificateName), string(certificate)))
		}
	}
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate of the embedded log: %w", err)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("certificate of the embedded log: %w; remove %s to have a new one created",
			err, filepath.Join(p.path, certificateName))
	}
	return pair, nil
}

func (p *private) readPair() (certificate, key []byte, err error) {
	info, err := os.Stat(p.name(keyName))
	if err == nil {
		err = secret(filepath.Join(p.path, keyName), info)
	}
	if err != nil {
		return nil, nil, err
	}
	if key, err = os.ReadFile(p.name(keyName)); err != nil {
		return nil, nil, err
	}
	certificate, err = os.ReadFile(p.name(certificateName))
	return certificate, key, err
}

func makePair() (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "payfold embedded log"},
		NotBefore:   time.Unix(0, 0),
		NotAfter:    time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: it never expires
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, err
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8}), nil
}

var errOtherCertificate = errors.New("its certificate differs from the one in the data directory")

// pin returns a reader's TLS configuration: it accepts only a server that has the
// certificate in the folder, and its key.
func (p *private) pin() (*tls.Config, error) {
	text, err := os.ReadFile(p.name(certificateName))
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, fmt.Errorf("%s holds no certificate", filepath.Join(p.path, certificateName))
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS13,
		InsecureSkipVerify: true, // skips names and dates; VerifyConnection is stricter
		VerifyConnection: func(state tls.ConnectionState) error {
			if !bytes.Equal(state.PeerCertificates[0].Raw, block.Bytes) {
				return errOtherCertificate
			}
			return nil
		},
	}, nil
}
