package providers

import (
	"crypto/hmac"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Signature is the signature of a delivery that matched.
type Signature struct {
	EventID        string // the event's id, if the provider sends it in a header
	Text           string // as the provider writes it: hexadecimal or base64
	Signed         string // what is signed before the body, without what stands between; empty if nothing is
	KeyFingerprint string
}

// The errors of Verify.
var (
	ErrNoSignature = errors.New("no signature")
	ErrSignature   = errors.New("no signature matches")
	ErrTimestamp   = errors.New("the signed time is not within five minutes")
)

// Tolerance is how far a signed time may be from ours when a delivery arrives.
const Tolerance = 5 * time.Minute

// Verify returns the signature that one of the secrets made of the body. It compares every signature with every key in
// constant time, also after a match; of several that match, the first in the header counts. A signed time must be
// within Tolerance of now; if now is zero, it may be any time. The errors are ErrNoSignature, ErrSignature and
// ErrTimestamp.
func (p *Provider) Verify(header http.Header, body []byte, secrets []Secret, now time.Time) (Signature, error) {
	for i := range p.schemes {
		s := &p.schemes[i]
		for _, name := range s.headers {
			switch times := len(header[name]); {
			case times > 1 && !s.repeats:
				return Signature{}, ErrSignature
			case times > 0:
				return p.verify(i, s.read(header, name), body, secrets, now)
			}
		}
	}
	return Signature{}, ErrNoSignature
}

func (p *Provider) verify(scheme int, n note, body []byte, secrets []Secret, now time.Time) (Signature, error) {
	if len(n.signatures) == 0 || n.values > maxSignatures {
		return Signature{}, ErrSignature
	}
	s, found, first := &p.schemes[scheme], Signature{}, len(n.signatures)
	for _, secret := range secrets {
		for _, key := range secret.of.keys[scheme] {
			want := key.mac(s.before(n.before), body)
			for i, have := range n.signatures {
				if hmac.Equal(have[:], want[:]) && i < first {
					found, first = Signature{n.id, s.encode(want[:]), n.before, secret.Fingerprint()}, i
				}
			}
		}
	}
	switch {
	case first == len(n.signatures):
		return Signature{}, ErrSignature
	case !n.at.IsZero() && !now.IsZero() && now.Sub(n.at).Abs() > Tolerance:
		return Signature{}, ErrTimestamp
	}
	return found, nil
}

func (s *scheme) before(text string) string {
	if s.between == "" {
		return ""
	}
	return text + s.between
}

// Signed reports whether the message's signature is one that the secret makes of its body, and of what the message says
// was signed before the body. An id that the provider sends in a header must be the one that was signed. It does not look
// at the time again.
func (p *Provider) Signed(secret Secret, m events.Message) bool {
	if id, _, _ := cutLast(m.Signed, "."); p.id == inHeader && id != m.ID {
		return false
	}
	for i := range p.schemes {
		s := &p.schemes[i]
		if (s.between == "") != (m.Signed == "") {
			continue
		}
		for _, key := range secret.of.keys[i] {
			sum := key.mac(s.before(m.Signed), m.Body)
			if hmac.Equal([]byte(s.encode(sum[:])), []byte(m.Signature)) {
				return true
			}
		}
	}
	return false
}

// Sign returns the headers with which the provider would send the body now. id is the event's id, if the provider sends
// that in a header.
func (p *Provider) Sign(secret Secret, id string, body []byte, now time.Time) http.Header {
	scheme := len(p.schemes) - 1
	s, n := &p.schemes[scheme], note{before: fmt.Sprint(now.Unix())}
	if p.id == inHeader {
		n.before = id + "." + n.before
	}
	sum := secret.of.keys[scheme][0].mac(s.before(n.before), body)
	return s.sign(n, s.encode(sum[:]))
}

// IDInHeader reports whether the provider sends the event's id in a header, and not in the body.
func (p *Provider) IDInHeader() bool { return p.id == inHeader }

// SignatureHeader is the header in which the provider sends its signatures.
func (p *Provider) SignatureHeader() string { return p.schemes[len(p.schemes)-1].headers[0] }

// ForeignHeader returns the signature header of another provider that a delivery has; empty if it has none.
func (p *Provider) ForeignHeader(header http.Header) string {
	for _, other := range All {
		for _, s := range other.schemes {
			for _, name := range s.headers {
				if len(header[name]) > 0 {
					return name
				}
			}
		}
	}
	return ""
}
