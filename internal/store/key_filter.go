package store

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/jackc/pgx/v5"
)

// alone is what a loader knows of tables that nobody else writes: it need not
// ask for what they cannot have, nor for what is on the shelves by now.
type alone struct {
	any     bool               // whether they have any rows
	written *bloom.BloomFilter // the names of all their rows; may say yes to others. nil: not known
	until   uint64             // where the tables will stand in the end
	asked   map[nameKind]set   // by kind, the names looked for since the shelves were empty
	size    int                // of asked, about
}

// One name in a hundred that the tables do not have is looked for in vain.
const falsePositives = 0.01

// namesPerEvent is what the months of a real shop come to, about. Where there
// are more, more is looked for in vain.
const namesPerEvent = 3

// To read the names of eight events takes as long as to look for those of one
// that may not be there, about.
const readPerLook = 8

func newAlone() *alone { return &alone{asked: map[nameKind]set{}} }

func (a *alone) ask(kind nameKind, names set) []string {
	if !a.any {
		return nil
	}
	asked := a.asked[kind]
	if asked == nil {
		asked = set{}
		a.asked[kind] = asked
	}
	fresh := set{}
	for name := range names {
		if _, done := asked[name]; !done && a.mayHave(name) {
			fresh.add(name)
		}
	}
	for name := range fresh {
		asked.add(name)
		a.size += len(name) + 40
	}
	return fresh.list()
}

func (a *alone) mayHave(name string) bool {
	return a.written == nil || a.written.Test(hashBytes(hashOf(name)))
}

// learn notes the names of rows that are being written into the tables, which then
// stand at position.
func (a *alone) learn(rows *shelves, position uint64) {
	switch {
	case position >= a.until:
		a.written = nil
	case a.written != nil:
		rows.eachHash(func(hash uint64) { a.written.Add(hashBytes(hash)) })
	}
}

func hashBytes(hash uint64) []byte { return binary.LittleEndian.AppendUint64(nil, hash) }

// renew: the tables have some rows, and the shelves are empty.
func (a *alone) renew() { a.any, a.asked, a.size = true, map[nameKind]set{}, 0 }

// namesOfRows is the statement that reads every name under which rows are looked for.
func namesOfRows() string {
	var parts []string
	for _, t := range derived {
		for _, name := range t.about().nameIn {
			parts = append(parts, fmt.Sprintf("select %s from %s where %[1]s is not null", name, t.about().name))
		}
	}
	return strings.Join(parts, " union all ")
}

// resume looks at what is in the tables, which stand at position and are to be
// brought up to until. The names of their rows are read where that pays: a
// promotion that adds the last few events keeps others waiting.
func (a *alone) resume(ctx context.Context, connection *pgx.Conn, position, until uint64) error {
	if err := connection.QueryRow(ctx, "select exists (select from processed_event)").Scan(&a.any); err != nil {
		return fmt.Errorf("look for rows: %w", err)
	}
	a.until = until
	if a.any && until < position+position/readPerLook {
		return nil
	}
	a.written = bloom.NewWithEstimates(uint(max(until, 1_000)*namesPerEvent), falsePositives)
	rows, err := connection.Query(ctx, namesOfRows())
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	var name string
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		a.written.Add(hashBytes(hashOf(name)))
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	return nil
}
