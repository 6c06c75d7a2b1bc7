package tables

import (
	"cmp"
	"encoding/binary"
	"math"

	"github.com/jackc/pgx/v5/pgtype"
)

// Place is where Postgres has a row in the file of its table: its ctid. A row that is changed gets another
// place. The place of a row that is gone can become that of another one.
type Place struct {
	Page uint32
	Item uint16
}

// Compare orders places as they are in the file.
func (p Place) Compare(with Place) int {
	return cmp.Or(cmp.Compare(p.Page, with.Page), cmp.Compare(p.Item, with.Item))
}

// Pages are some pages of a table's file, without Until.
type Pages struct{ From, Until uint32 }

// AllPages are those that any file can have.
var AllPages = Pages{Until: math.MaxUint32}

const placeSize = 6

// placeOf reads a place in the binary format of Postgres.
func placeOf(binaryFormat []byte) Place {
	return Place{Page: binary.BigEndian.Uint32(binaryFormat), Item: binary.BigEndian.Uint16(binaryFormat[4:])}
}

// placeArray returns places as an argument of a statement.
func placeArray(places []Place) any {
	out := make([]byte, 0, arrayHeaderSize+len(places)*(lengthSize+placeSize))
	out = appendArrayHeader(out, pgtype.TIDOID, len(places))
	for _, p := range places {
		out = binary.BigEndian.AppendUint32(out, placeSize)
		out = binary.BigEndian.AppendUint32(out, p.Page)
		out = binary.BigEndian.AppendUint16(out, p.Item)
	}
	return encodedArray{out}
}
