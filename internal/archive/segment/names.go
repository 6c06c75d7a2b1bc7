package segment

import (
	"fmt"
	"strconv"
	"strings"
)

const (
	suffix    = ".seg"
	seqDigits = 20
)

// PartName is the name of the segment that begins with first, as it was cut.
func PartName(first uint64) string { return fmt.Sprintf("%0*d%s", seqDigits, first, suffix) }

// MergedName is the name of a segment that was merged from others.
func MergedName(first, last uint64) string {
	return fmt.Sprintf("%0*d-%0*d%s", seqDigits, first, seqDigits, last, suffix)
}

// ParseName returns the sequences in a segment's name. last is 0 if the name has none.
func ParseName(name string) (first, last uint64, isSegment bool) {
	text, isSegment := strings.CutSuffix(name, suffix)
	from, to, merged := strings.Cut(text, "-")
	first, ok := parseSeq(from)
	if merged {
		var valid bool
		last, valid = parseSeq(to)
		ok = ok && valid && last >= first
	}
	if !isSegment || !ok {
		return 0, 0, false
	}
	return first, last, true
}

func parseSeq(text string) (uint64, bool) {
	seq, err := strconv.ParseUint(text, 10, 64)
	return seq, err == nil && len(text) == seqDigits && seq > 0
}
