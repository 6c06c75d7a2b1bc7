package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
)

// Certificate measures the certificate of the server of a connection at each scrape. There is no
// value without a connection, or without TLS.
type Certificate struct {
	conn   *nats.Conn
	expiry *prometheus.Desc
}

// NewCertificate returns a collector for the connection.
func NewCertificate(conn *nats.Conn) *Certificate {
	return &Certificate{conn, prometheus.NewDesc("payfold_log_certificate_expiry_timestamp_seconds",
		"When the certificate of the NATS server that ingest is connected to expires, or an earlier one of its chain.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (c *Certificate) Describe(descs chan<- *prometheus.Desc) { descs <- c.expiry }

// Collect implements prometheus.Collector.
func (c *Certificate) Collect(metrics chan<- prometheus.Metric) {
	state, err := c.conn.TLSConnectionState()
	if err != nil || len(state.PeerCertificates) == 0 {
		return
	}
	expiry := state.PeerCertificates[0].NotAfter
	for _, certificate := range state.PeerCertificates[1:] {
		if certificate.NotAfter.Before(expiry) {
			expiry = certificate.NotAfter
		}
	}
	metrics <- prometheus.MustNewConstMetric(c.expiry, prometheus.GaugeValue, float64(expiry.UnixNano())/float64(time.Second))
}

// CertificateFault returns why err, the last one of a connection, refuses the certificate of the server; empty if it does
// not. The text leaves out the time that the error contains, because it differs at each try.
func CertificateFault(err error) string {
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(err, &invalid) && invalid.Reason == x509.Expired:
		return "It answers, but its certificate has expired, or is not valid yet."
	case errors.As(err, new(x509.UnknownAuthorityError)):
		return "It answers, but its certificate is of an authority that this program does not trust."
	case errors.As(err, new(x509.HostnameError)):
		return "It answers, but its certificate is for other names."
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "It answers, but its certificate is refused."
	}
	return ""
}
