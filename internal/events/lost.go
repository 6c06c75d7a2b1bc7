package events

import (
	"bytes"
	"fmt"
)

// A log that is restored from an archive can lack its newest messages. Other messages must not get
// their sequences, because tables that were folded from the lost log have these sequences. So each
// of them gets a mark: an unsigned own event of its own type, which the rules ignore.

// LostType is the event type of a mark.
const LostType = "payfold.lost"

// Lost returns the id and the body of the mark at a sequence.
func Lost(seq uint64) (id string, body []byte) {
	id = fmt.Sprintf("lost:%d", seq)
	return id, fmt.Appendf(nil, `{"id":%q,"type":%q}`, id, LostType)
}

// Lost reports whether m is the mark at its sequence.
func (m Message) Lost() bool {
	if m.Signature != "" { // nearly every message
		return false
	}
	id, body := Lost(m.Seq)
	return m.ID == id && bytes.Equal(m.Body, body)
}
