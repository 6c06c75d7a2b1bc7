// Package codec writes values as bytes, and reads them again. A function that visits the fields of a type in one order
// writes the type with a Writer, and reads it with a Reader. Nothing in the bytes says which field comes next.
package codec

import (
	"encoding/binary"
	"errors"
	"time"
)

// Coder writes or reads one value after the other.
type Coder interface {
	Text(*string)
	Number(*int64)
	Flag(*bool)
}

// Time writes or reads a time in UTC, to the nanosecond.
func Time(c Coder, t *time.Time) {
	known := !t.IsZero()
	if c.Flag(&known); !known {
		return
	}
	seconds, rest := t.Unix(), int64(t.Nanosecond())
	c.Number(&seconds)
	c.Number(&rest)
	*t = time.Unix(seconds, rest).UTC()
}

// Optional writes or reads a number that can be absent.
func Optional(c Coder, n **int64) {
	present := *n != nil
	if c.Flag(&present); !present {
		return
	}
	var value int64
	if *n != nil {
		value = **n
	}
	c.Number(&value)
	*n = &value
}

// Writer appends values to Out.
type Writer struct{ Out []byte }

// Text implements Coder.
func (w *Writer) Text(t *string) {
	w.Out = append(binary.AppendUvarint(w.Out, uint64(len(*t))), *t...)
}

// Number implements Coder.
func (w *Writer) Number(n *int64) { w.Out = binary.AppendVarint(w.Out, *n) }

// Flag implements Coder.
func (w *Writer) Flag(b *bool) {
	if *b {
		w.Out = append(w.Out, 1)
		return
	}
	w.Out = append(w.Out, 0)
}

// Reader reads the values that a Writer has written into the fields of empty values. The texts are parts of the whole.
type Reader struct {
	rest string
	err  error
}

// NewReader returns a reader of a Writer's bytes.
func NewReader(written string) Reader { return Reader{rest: written} }

// Err returns an error if the bytes read so far are not those of a Writer. Then the values are of no use.
func (r *Reader) Err() error { return r.err }

// Done reports whether nothing is left to read.
func (r *Reader) Done() bool { return r.err != nil || r.rest == "" }

var errNotWritten = errors.New("the bytes were cut off or changed")

func (r *Reader) fail() { r.rest, r.err = "", errNotWritten }

// Text implements Coder.
func (r *Reader) Text(t *string) {
	length := r.unsigned()
	if length > uint64(len(r.rest)) {
		r.fail()
		return
	}
	*t, r.rest = r.rest[:length], r.rest[length:]
}

// Number implements Coder.
func (r *Reader) Number(n *int64) {
	value := r.unsigned()
	*n = int64(value>>1) ^ -int64(value&1)
}

// Flag implements Coder.
func (r *Reader) Flag(b *bool) {
	if r.rest == "" || r.rest[0] > 1 {
		r.fail()
		return
	}
	*b, r.rest = r.rest[0] == 1, r.rest[1:]
}

func (r *Reader) unsigned() (value uint64) {
	for i := 0; i < len(r.rest) && i < binary.MaxVarintLen64; i++ {
		b := r.rest[i]
		if value |= uint64(b&0x7f) << (7 * i); b < 0x80 {
			r.rest = r.rest[i+1:]
			return value
		}
	}
	r.fail()
	return 0
}
