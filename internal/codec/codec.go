// Package codec writes values as bytes, and reads them again. A function that visits the fields of a type in one order
// writes the type with a Writer, and reads it with a Reader. Nothing in the bytes says which field comes next.
package codec

import (
	"encoding/binary"
	"errors"
	"time"
)

// Coder writes or reads one value after the other. It is one type and no interface, so that the fields which it visits
// need no memory of their own: a rebuild visits some hundred fields for each event.
type Coder struct {
	Out []byte // what a writer has written

	reads bool
	rest  string // what a reader has not read yet
	err   error
}

// Writer returns a coder that appends values to out.
func Writer(out []byte) Coder { return Coder{Out: out} }

// Reader returns a coder that reads what a writer has written into the fields of empty values. The texts are parts of
// the whole.
func Reader(written string) Coder { return Coder{reads: true, rest: written} }

// Err returns an error if the bytes read so far are not those of a writer. Then the values are of no use.
func (c *Coder) Err() error { return c.err }

// Done reports whether nothing is left to read.
func (c *Coder) Done() bool { return c.err != nil || c.rest == "" }

// Text writes or reads a text.
func (c *Coder) Text(t *string) {
	if !c.reads {
		c.Out = append(binary.AppendUvarint(c.Out, uint64(len(*t))), *t...)
		return
	}
	length := c.unsigned()
	if length > uint64(len(c.rest)) {
		c.fail()
		return
	}
	*t, c.rest = c.rest[:length], c.rest[length:]
}

// Number writes or reads a number.
func (c *Coder) Number(n *int64) {
	if !c.reads {
		c.Out = binary.AppendVarint(c.Out, *n)
		return
	}
	value := c.unsigned()
	*n = int64(value>>1) ^ -int64(value&1)
}

// Flag writes or reads a flag.
func (c *Coder) Flag(b *bool) {
	switch {
	case !c.reads && *b:
		c.Out = append(c.Out, 1)
	case !c.reads:
		c.Out = append(c.Out, 0)
	case c.rest == "" || c.rest[0] > 1:
		c.fail()
	default:
		*b, c.rest = c.rest[0] == 1, c.rest[1:]
	}
}

// Time writes or reads a time in UTC, to the nanosecond.
func (c *Coder) Time(t *time.Time) {
	known := !t.IsZero()
	if c.Flag(&known); !known {
		return
	}
	seconds, rest := t.Unix(), int64(t.Nanosecond())
	c.Number(&seconds)
	c.Number(&rest)
	if c.reads {
		*t = time.Unix(seconds, rest).UTC()
	}
}

// Optional writes or reads a number that can be absent.
func (c *Coder) Optional(n **int64) {
	present := *n != nil
	if c.Flag(&present); !present {
		return
	}
	if c.reads {
		*n = new(int64)
	}
	c.Number(*n)
}

var errNotWritten = errors.New("the bytes were cut off or changed")

func (c *Coder) fail() { c.rest, c.err = "", errNotWritten }

func (c *Coder) unsigned() (value uint64) {
	for i := 0; i < len(c.rest) && i < binary.MaxVarintLen64; i++ {
		b := c.rest[i]
		if value |= uint64(b&0x7f) << (7 * i); b < 0x80 {
			c.rest = c.rest[i+1:]
			return value
		}
	}
	c.fail()
	return 0
}
