package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// SignatureHeader carries the provider's signature of the raw body.
const SignatureHeader = "Provider-Signature"

// maxSignatures bounds the header's values. During a rotation a provider may sign with both
// secrets; more than eight values are an attack.
const maxSignatures = 8

// verify returns the secret that signed the body, and the signature in lower-case hex. It
// compares every value with every secret in constant time, also after a match. It accepts
// upper-case hex, surrounding spaces and the prefix sha256=.
func verify(body []byte, values []string, secrets []Secret) (signer Secret, signature string, ok bool) {
	if len(values) > maxSignatures {
		return Secret{}, "", false
	}
	for _, secret := range secrets {
		want := secret.mac(body)
		for _, value := range values {
			if have, isHex := decodeSignature(value); isHex && hmac.Equal(have[:], want[:]) && !ok {
				signer, signature, ok = secret, hex.EncodeToString(want[:]), true
			}
		}
	}
	return signer, signature, ok
}

// Signed reports whether signature is exactly the result of Sign for the body.
func (s Secret) Signed(body []byte, signature string) bool {
	return hmac.Equal([]byte(s.Sign(body)), []byte(signature))
}

func decodeSignature(value string) (mac [sha256.Size]byte, ok bool) {
	const prefix = "sha256="
	value = strings.TrimSpace(value)
	if len(value) > len(prefix) && strings.EqualFold(value[:len(prefix)], prefix) {
		value = value[len(prefix):]
	}
	if len(value) != hex.EncodedLen(sha256.Size) {
		return mac, false
	}
	_, err := hex.Decode(mac[:], []byte(value))
	return mac, err == nil
}
