package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// refusedFor is how long Why remembers a refused certificate. It is longer than one try with each server takes.
// Otherwise the reason would change with each server.
const refusedFor = 15 * time.Second

// Refused remembers why this program refused the certificate of the log's server. Its zero value is ready.
type Refused struct {
	mu   sync.Mutex
	why  string
	seen time.Time
}

// Why returns why conn, which is not connected, refused the server's certificate. The sentence stays the same as
// long as the reason does. It is empty if the certificate is not the reason.
func (r *Refused) Why(conn *nats.Conn) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := certificateFault(conn.LastError()); why != "" {
		r.why, r.seen = why, time.Now()
	}
	if time.Since(r.seen) > refusedFor {
		r.why = ""
	}
	return r.why
}

// certificateFault returns why err refuses a certificate; empty if it does not. The text leaves out the time that the
// error contains, because it differs at each try.
func certificateFault(err error) string {
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
