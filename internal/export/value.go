package export

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// kind is how a value is written.
type kind int

const (
	kindText kind = iota
	kindNumber
	kindBool
	kindTime
)

// kinds are the types of the contract's columns.
var kinds = map[string]kind{
	"text": kindText, "bigint": kindNumber, "boolean": kindBool, "timestamp with time zone": kindTime,
}

// value is one field of a row. It is valid until the next row is read.
type value struct {
	null   bool
	text   []byte
	number int64 // also a boolean, 0 or 1, and a time, in microseconds since 1970
}

// pgEpoch is where Postgres counts its microseconds from.
var pgEpoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC).UnixMicro()

// decode reads a field in Postgres' binary form.
func decode(column *Column, raw []byte) (v value, err error) {
	if raw == nil {
		return value{null: true}, nil
	}
	want := map[kind]int{kindText: len(raw), kindNumber: 8, kindBool: 1, kindTime: 8}[kinds[column.Type]]
	if len(raw) != want {
		return v, fmt.Errorf("column %s has %d bytes, must have %d", column.Name, len(raw), want)
	}
	switch kinds[column.Type] {
	case kindText:
		v.text = raw
	case kindNumber:
		v.number = int64(binary.BigEndian.Uint64(raw))
	case kindBool:
		v.number = int64(raw[0])
	case kindTime:
		v.number = int64(binary.BigEndian.Uint64(raw))
		if v.number == math.MaxInt64 || v.number == math.MinInt64 {
			return v, fmt.Errorf("column %s has a time without an end, which an export has no form for", column.Name)
		}
		v.number += pgEpoch
	}
	return v, nil
}

// rowWriter writes the rows of one file.
type rowWriter interface {
	Write(row []value) error
	Close() error // writes the rest; it does not close the file
}
