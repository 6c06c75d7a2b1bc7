package connection

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// refusedFor is how long a refused certificate is told after it was seen last: longer than one try with each
// server takes. Otherwise the reason would be another one with each server.
const refusedFor = 15 * time.Second

// Refused remembers why the certificate of the log's server was refused. Its zero value is ready.
type Refused struct {
	mu   sync.Mutex
	why  string
	seen time.Time
}

// Why returns why a connection that is not there found no certificate that it trusts, as a sentence that does
// not change while the reason stays; empty where that is not the reason.
func (r *Refused) Why(conn *nats.Conn) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if why := refusal(conn.LastError()); why != "" {
		r.why, r.seen = why, time.Now()
	}
	if time.Since(r.seen) > refusedFor {
		r.why = ""
	}
	return r.why
}

// refusal leaves out what the errors say of the time, which is another one at each try.
func refusal(err error) string {
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
