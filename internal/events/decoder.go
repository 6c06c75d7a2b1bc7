package events

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder reads JSON from front to back, once. next or element moves to a value; then open,
// value or skip must read it. If the body is not JSON, the decoder sets failed and stops, and
// every loop over next or element ends.
type decoder struct {
	tokens jsontext.Decoder
	source bytes.Buffer // the body; tokens reads it without a copy
	body   []byte
	key    []byte // of the current value, unescaped
	failed bool
}

// The decoder accepts a repeated key, of which the last value counts, and a lone surrogate,
// which makes only its own field invalid. Parse has checked before that all bytes are UTF-8.
var (
	equalKeys      = jsontext.AllowDuplicateNames(true)
	loneSurrogates = jsontext.AllowInvalidUTF8(true)
)

// decoders are reused, because a new one costs a quarter of the time that a body takes. An
// unused decoder refers to its last body, but never reads it.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// newDecoder returns a decoder at the body's first value. The caller must free it.
func newDecoder(body []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.source = *bytes.NewBuffer(body)
	d.tokens.Reset(&d.source, equalKeys, loneSurrogates)
	d.body, d.key, d.failed = body, nil, false
	return d
}

func (d *decoder) free() { decoders.Put(d) }

// open passes the bracket if the current value begins with it; false if it does not.
func (d *decoder) open(bracket jsontext.Kind) bool {
	return !d.failed && d.tokens.PeekKind() == bracket && d.pass()
}

// next goes on to the next field of the object that was opened; false at its end.
func (d *decoder) next() bool {
	if !d.more('}') {
		return false
	}
	name := d.value()
	if !d.failed {
		d.key, _ = unquote(name)
	}
	return !d.failed
}

// element goes on to the next element of the array that was opened; false at its end.
func (d *decoder) element() bool { return d.more(']') }

// more reports whether a value comes before the closing bracket. If none does, it passes the
// bracket.
func (d *decoder) more(closing jsontext.Kind) bool {
	if !d.failed && d.tokens.PeekKind() == closing {
		d.pass()
		return false
	}
	return !d.failed
}

// pass passes a bracket.
func (d *decoder) pass() bool {
	_, err := d.tokens.ReadToken()
	d.failed = err != nil
	return !d.failed
}

// value passes the current value and returns its part of the body; nil if it is not JSON.
func (d *decoder) value() []byte {
	raw, err := d.tokens.ReadValue()
	if d.failed = err != nil; d.failed {
		return nil
	}
	end := d.offset()
	return d.body[end-len(raw) : end]
}

// skip passes the current value.
func (d *decoder) skip() {
	if !d.failed {
		d.failed = d.tokens.SkipValue() != nil
	}
}

// atEnd reports whether only white space follows.
func (d *decoder) atEnd() bool {
	_, err := d.tokens.ReadToken()
	return errors.Is(err, io.EOF)
}

// offset returns where the last valid token ended.
func (d *decoder) offset() int { return int(d.tokens.InputOffset()) }

// unquote returns the text of a string, and whether it contains a lone surrogate. Without an
// escape, the text is a part of raw.
func unquote(raw []byte) (text []byte, broken bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return text, err != nil
}
