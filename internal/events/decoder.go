package events

import (
	"bytes"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// decoder reads JSON from front to back, once. It goes from value to value: next or
// element to each in turn, and then one of open, value and skip has to pass it. Where
// the body is not JSON it stops for good: failed is set, and every loop over next or
// element ends.
type decoder struct {
	tokens jsontext.Decoder
	source bytes.Buffer // of the body; tokens takes it without a copy
	body   []byte
	key    []byte // of the value at hand, unescaped
	failed bool
}

// Of two equal keys the last one counts, and a lone surrogate spoils only the field
// that holds it. That all bytes are UTF-8, Parse has made sure of before.
var (
	equalKeys      = jsontext.AllowDuplicateNames(true)
	loneSurrogates = jsontext.AllowInvalidUTF8(true)
)

// decoders are used again: to make one costs a quarter of what reading a body does.
var decoders = sync.Pool{New: func() any { return new(decoder) }}

// newDecoder returns one that is at the body's first value. Who has read it, frees it.
func newDecoder(body []byte) *decoder {
	d := decoders.Get().(*decoder)
	d.source = *bytes.NewBuffer(body)
	d.tokens.Reset(&d.source, equalKeys, loneSurrogates)
	d.body, d.key, d.failed = body, nil, false
	return d
}

func (d *decoder) free() { decoders.Put(d) }

// open passes the bracket if the value at hand begins with it.
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

// more passes the closing bracket where nothing comes before it.
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

// value passes the value at hand and returns its part of the body; nil where it is none.
func (d *decoder) value() []byte {
	raw, err := d.tokens.ReadValue()
	if d.failed = err != nil; d.failed {
		return nil
	}
	end := d.offset()
	return d.body[end-len(raw) : end]
}

// skip passes the value at hand.
func (d *decoder) skip() {
	if !d.failed {
		d.failed = d.tokens.SkipValue() != nil
	}
}

// atEnd says whether nothing follows but space.
func (d *decoder) atEnd() bool {
	_, err := d.tokens.ReadToken()
	return errors.Is(err, io.EOF)
}

// offset is where the last sound token ended.
func (d *decoder) offset() int { return int(d.tokens.InputOffset()) }

// unquote is the text of a string, and whether it holds a lone surrogate. It is a
// part of the string where nothing in it is escaped.
func unquote(raw []byte) (text []byte, broken bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw[1 : len(raw)-1], false
	}
	text, err := jsontext.AppendUnquote(nil, raw)
	return text, err != nil
}
