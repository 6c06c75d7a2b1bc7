package events

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxCleanID bounds an id in bytes. NATS changes some header values, and Postgres refuses
// index rows over 2.7 kB. So an id that is longer, or has other characters, is replaced by
// its hash.
const maxCleanID = 200

const hashPrefix = "sha256:"

// CleanID returns the form of an event id that is used everywhere: as the message's dedupe
// id, in answers and in the tables. An id of 1 to 200 printable ASCII characters without
// spaces is unchanged. Any other id, and one that begins with "sha256:", becomes
// "sha256:<hex>" of itself. Two different inputs never have the same result.
func CleanID(id string) string {
	if isClean(id) && !strings.HasPrefix(id, hashPrefix) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// PossibleIDs returns the ids under which the tables may have an event, from an id that a person
// typed. An id of the form "sha256:<hex>" may be clean already, so both forms are returned.
func PossibleIDs(id string) []string {
	if digest, hashed := strings.CutPrefix(id, hashPrefix); hashed && len(digest) == 2*sha256.Size && strings.Trim(digest, "0123456789abcdef") == "" {
		return []string{id, CleanID(id)}
	}
	return []string{CleanID(id)}
}

func isClean(s string) bool {
	if s == "" || len(s) > maxCleanID {
		return false
	}
	for i := range len(s) {
		if s[i] < 0x21 || s[i] > 0x7e {
			return false
		}
	}
	return true
}
