package providers

import (
	"bytes"
	"slices"
	"strings"
)

// MaxText bounds the text of a field, in bytes. An index row of Postgres holds 2.7 kB, and no
// provider's ids are nearly that long.
const MaxText = 255

// fits reports whether a table can store the scalar as text.
func (s *scalar) fits() bool {
	return !s.broken && len(s.text) <= MaxText && bytes.IndexByte(s.text, 0) < 0
}

// texts copies an event's texts into one buffer, until the buffer is full.
type texts struct {
	buffer  strings.Builder
	invalid bool // a text does not fit
}

// of returns the text of value.
func (t *texts) of(value scalar) string {
	t.invalid = t.invalid || !value.fits()
	return t.ofOptional(value)
}

// ofOptional returns the text of value, or nothing if it does not fit.
func (t *texts) ofOptional(value scalar) string {
	if !value.fits() {
		return ""
	}
	return t.copy(value.text)
}

const textBuffer = 256 // bytes; enough for most events

func (t *texts) copy(text []byte) string {
	if t.buffer.Cap() == 0 {
		t.buffer.Grow(textBuffer)
	}
	begin := t.buffer.Len()
	if t.buffer.Cap()-begin < len(text) {
		return string(text)
	}
	t.buffer.Write(text)
	return t.buffer.String()[begin:]
}

// placeholders are what a program writes in the place of a value that it does not have.
var placeholders = [][]byte{
	[]byte("undefined"), []byte("null"), []byte("nan"), []byte("none"), []byte("nil"), []byte("<nil>"),
	[]byte("[object object]"),
}

// isPlaceholder reports whether the text stands for no value.
func isPlaceholder(text []byte) bool {
	text = bytes.TrimSpace(text)
	return slices.ContainsFunc(placeholders, func(one []byte) bool { return bytes.EqualFold(text, one) })
}
