package providers

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// scheme is one way to sign a body with HMAC-SHA256.
type scheme struct {
	headers []string                       // each of them can carry the signatures, in the spelling of net/http
	keys    func(secret string) [][]byte   // the keys of a secret; none if it is not one
	read    func(http.Header, string) note // the signatures in that header
	sign    func(note, string) http.Header // the headers for a signature
	encode  func([]byte) string            // how a signature is written
	between string                         // stands between what is signed before the body and the body; empty if nothing is
	repeats bool                           // its header may come several times; any other must come once
}

// note is what the headers of a delivery say of its signature.
type note struct {
	id         string    // of the event, if a header has it
	before     string    // what is signed before the body
	at         time.Time // the time that is signed; zero if none is
	signatures [][sha256.Size]byte
	values     int // how many there are, with those that cannot be signatures
}

// maxSignatures bounds the signatures in the headers. During a rotation a provider may sign with both secrets; more than
// eight values are an attack.
const maxSignatures = 8

// hexOfBody signs the body alone, in hexadecimal. sha256= may stand before a signature. Commas separate several
// signatures.
func hexOfBody(header string, others ...string) scheme {
	return scheme{
		headers: append([]string{header}, others...), keys: textKey, encode: hex.EncodeToString,
		read: func(h http.Header, name string) (n note) {
			for _, value := range h[name] {
				for one := range strings.SplitSeq(value, ",") {
					n.add(hex.DecodeString, withoutPrefix(strings.TrimSpace(one)))
				}
			}
			return n
		},
		sign: func(_ note, signature string) http.Header { return http.Header{header: {signature}} },
	}
}

// repeated is the scheme for a header that may come several times.
func (s scheme) repeated() scheme {
	s.repeats = true
	return s
}

func withoutPrefix(signature string) string {
	const prefix = "sha256="
	if len(signature) > len(prefix) && strings.EqualFold(signature[:len(prefix)], prefix) {
		return signature[len(prefix):]
	}
	return signature
}

// timed signs a time in seconds, a separator and the body. One header has the time and the signatures, as pairs.
func timed(header, timeName, signatureName, comma, between string) scheme {
	return scheme{
		headers: []string{header}, keys: textKey, encode: hex.EncodeToString, between: between,
		read: func(h http.Header, name string) (n note) {
			times := 0
			for pair := range strings.SplitSeq(h[name][0], comma) {
				key, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
				switch key {
				case timeName:
					times++
					n.before, n.at = value, seconds(value)
				case signatureName:
					n.add(hex.DecodeString, value)
				}
			}
			if times != 1 || n.at.IsZero() {
				return note{}
			}
			return n
		},
		sign: func(n note, signature string) http.Header {
			return http.Header{header: {timeName + "=" + n.before + comma + signatureName + "=" + signature}}
		},
	}
}

// The headers of Standard Webhooks.
const (
	webhookID        = "Webhook-Id"
	webhookTime      = "Webhook-Timestamp"
	webhookSignature = "Webhook-Signature"
)

// standard is the scheme of Standard Webhooks: it signs id.time.body.
func standard(keys func(secret string) [][]byte) scheme {
	return scheme{
		headers: []string{webhookSignature}, keys: keys, encode: base64.StdEncoding.EncodeToString, between: ".",
		read: func(h http.Header, name string) (n note) {
			ids, times := h[webhookID], h[webhookTime]
			if len(ids) != 1 || len(times) != 1 || !isHeaderID(ids[0]) || seconds(times[0]).IsZero() {
				return note{}
			}
			n.id, n.before, n.at = ids[0], ids[0]+"."+times[0], seconds(times[0])
			for one := range strings.FieldsSeq(h[name][0]) {
				if version, signature, _ := strings.Cut(one, ","); version == "v1" {
					n.add(base64.StdEncoding.DecodeString, signature)
				}
			}
			return n
		},
		sign: func(n note, signature string) http.Header {
			id, at, _ := cutLast(n.before, ".")
			return http.Header{webhookID: {id}, webhookTime: {at}, webhookSignature: {"v1," + signature}}
		},
	}
}

func (n *note) add(decode func(string) ([]byte, error), text string) {
	n.values++
	if signature, err := decode(text); err == nil && len(signature) == sha256.Size {
		n.signatures = append(n.signatures, [sha256.Size]byte(signature))
	}
}

// textKey returns the bytes of the secret's text.
func textKey(secret string) [][]byte { return [][]byte{[]byte(secret)} }

// base64Key returns what the base64 after whsec_ says. HMAC pads a key with NULs, so a key of NULs is the empty key.
func base64Key(secret string) [][]byte {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(bytes.Trim(key, "\x00")) == 0 {
		return nil
	}
	return [][]byte{key}
}

// eitherKey returns the keys of both, the text's first.
func eitherKey(secret string) [][]byte { return append(textKey(secret), base64Key(secret)...) }

// seconds reads a time in whole seconds; the zero time if it is none.
func seconds(text string) time.Time {
	if len(text) > 12 || strings.Trim(text, "0123456789") != "" {
		return time.Time{}
	}
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.Unix(at, 0).UTC()
}

// isHeaderID reports whether an id of a header can be stored as it is.
func isHeaderID(id string) bool { return events.CleanID(id) == id }

func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}
