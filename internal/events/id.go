package events

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// NATS trims and rewrites header values, and Postgres refuses index rows over
// 2.7 kB: an id that could meet either limit is replaced by its hash.
const maxCleanID = 200

const hashPrefix = "sha256:"

// CleanID is the form in which an event id is used everywhere: as the message's
// dedupe id, in answers and in the tables. An id of 1 to 200 printable ASCII
// characters without spaces stays as it is; any other, and one that begins with
// "sha256:", becomes "sha256:<hex>" of itself. CleanID never returns an id that
// two different inputs share.
func CleanID(id string) string {
	if isClean(id) && !strings.HasPrefix(id, hashPrefix) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hashPrefix + hex.EncodeToString(sum[:])
}

// PossibleIDs is what an event may be called in the tables that a person calls so: as it
// is, where that is the form of an id that was not clean; else its clean id.
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
