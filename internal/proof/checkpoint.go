package proof

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/payfold/payfold/internal/fingerprint"
)

// Checkpoint states what the log's first messages are.
type Checkpoint struct {
	Origin string           // the name of the signer's key
	Size   uint64           // number of messages
	Root   fingerprint.Hash // of the tree over them
	LogID  string
	First  uint64 // sequence of the first message; the others follow without a gap
}

// Last returns the sequence of the last message; First-1 if there is none.
func (c Checkpoint) Last() uint64 { return c.First + c.Size - 1 }

// RefusedError says why a checkpoint, a proof or a log is not accepted.
type RefusedError struct{ reason string }

func (e RefusedError) Error() string { return e.reason }

func refuse(format string, args ...any) error { return RefusedError{fmt.Sprintf(format, args...)} }

// The lines after the three of c2sp.org/tlog-checkpoint.
const (
	logIDLine = "log_id "
	firstLine = "first_seq "
)

// maxCount bounds sizes and sequences, so that sums of them do not overflow.
const maxCount = 1 << 62

// text returns the note's text.
func (c Checkpoint) text() string {
	return fmt.Sprintf("%s\n%d\n%s\n%s%s\n%s%d\n", c.Origin, c.Size, c.Root, logIDLine, c.LogID, firstLine, c.First)
}

// sign returns the signed note. The signer's name becomes the Origin.
func (c Checkpoint) sign(signer note.Signer) ([]byte, error) {
	c.Origin = signer.Name()
	if _, err := parseText(c.text()); err != nil {
		return nil, err
	}
	return note.Sign(&note.Note{Text: c.text()}, signer)
}

var errMalformed = RefusedError{"it is not a checkpoint of this program"}

// parseText is the inverse of text. It accepts no other form of the same values.
func parseText(text string) (c Checkpoint, err error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 6 {
		return Checkpoint{}, errMalformed
	}
	c.Origin, c.LogID = lines[0], strings.TrimPrefix(lines[3], logIDLine)
	var errs [3]error
	c.Size, errs[0] = strconv.ParseUint(lines[1], 10, 64)
	c.Root, errs[1] = tlog.ParseHash(lines[2])
	c.First, errs[2] = strconv.ParseUint(strings.TrimPrefix(lines[4], firstLine), 10, 64)
	if errors.Join(errs[:]...) != nil || c.text() != text {
		return Checkpoint{}, errMalformed
	}
	if !isPlain(c.Origin) || !isPlain(c.LogID) || c.First < 1 || c.First > maxCount || c.Size > maxCount {
		return Checkpoint{}, errMalformed
	}
	return c, nil
}

// isPlain reports whether a name can stand in a line and on a terminal.
func isPlain(name string) bool {
	return name != "" && len(name) <= 200 && strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == ' ' }) < 0
}

// Verifiers are the keys whose checkpoints are accepted.
type Verifiers struct{ list []note.Verifier }

// ParseVerifiers reads verifier keys that are separated by spaces or line breaks. A key may come
// several times.
func ParseVerifiers(text string) (v Verifiers, err error) {
	seen := map[string]bool{} // note.Open refuses a key that is in the list twice
	for key := range strings.FieldsSeq(text) {
		if seen[key] {
			continue
		}
		seen[key] = true
		verifier, err := note.NewVerifier(key)
		if err != nil {
			return Verifiers{}, fmt.Errorf("%q is not a verifier key, which has the form name+hash+key: %w", key, err)
		}
		v.list = append(v.list, verifier)
	}
	if len(v.list) == 0 {
		return Verifiers{}, errors.New("there is no verifier key")
	}
	return v, nil
}

// Open returns the checkpoint of a signed note. The error is a RefusedError unless one of the keys
// has signed it, and the name of that key is the checkpoint's Origin.
func (v Verifiers) Open(signed []byte) (Checkpoint, error) {
	opened, err := note.Open(signed, note.VerifierList(v.list...))
	var unverified *note.UnverifiedNoteError
	var invalid *note.InvalidSignatureError
	switch {
	case errors.As(err, &unverified):
		var signers []string
		for _, s := range unverified.Note.UnverifiedSigs {
			signers = append(signers, fmt.Sprintf("%q (%08x)", s.Name, s.Hash))
		}
		return Checkpoint{}, refuse("no given verifier key has signed the checkpoint; it names %s", strings.Join(signers, ", "))
	case errors.As(err, &invalid):
		return Checkpoint{}, refuse("the signature of %q (%08x) on the checkpoint does not hold: the checkpoint was changed", invalid.Name, invalid.Hash)
	case err != nil:
		return Checkpoint{}, refuse("the checkpoint is not a signed note: %v", err)
	}
	c, err := parseText(opened.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	for _, s := range opened.Sigs {
		if s.Name == c.Origin {
			return c, nil
		}
	}
	return Checkpoint{}, refuse("the checkpoint is of %q, and %q has signed it", c.Origin, opened.Sigs[0].Name)
}
