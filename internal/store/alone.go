package store

import (
	"context"
	_ "embed"
	"fmt"

	"github.com/bits-and-blooms/bloom/v3"
	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed names.sql
var namesOfRows string

// alone is what a loader knows of tables that nobody else writes: it need not
// ask for what they cannot have, nor for what its state has by now.
type alone struct {
	written *bloom.BloomFilter // the names of all rows that the tables have; may say yes to others
	any     bool               // whether they have any
	asked   map[string]set     // by kind, the names looked for since the state was new
}

// One name in a hundred that the tables do not have is looked for in vain.
const falsePositives = 0.01

// namesPerEvent is what the months of a real shop come to, about. Where there
// are more, more is looked for in vain.
const namesPerEvent = 3

func newAlone(events uint64) *alone {
	return &alone{written: bloom.NewWithEstimates(uint(max(events, 1_000)*namesPerEvent), falsePositives), asked: map[string]set{}}
}

func (a *alone) ask(kind string, names set) []string {
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
		if _, done := asked[name]; !done && a.written.TestString(name) {
			fresh.add(name)
		}
	}
	for name := range fresh {
		asked.add(name)
	}
	return fresh.list()
}

// wrote: the state's rows are in the tables now, and the next state is a new one.
func (a *alone) wrote(state *projections.State) {
	state.EachName(func(name string) { a.written.AddString(name) })
	a.any, a.asked = true, map[string]set{}
}

// resume reads the names of the rows that are in the tables already.
func (a *alone) resume(ctx context.Context, connection *pgx.Conn) error {
	rows, err := connection.Query(ctx, namesOfRows)
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	var name string
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		a.written.AddString(name)
		a.any = true
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	return nil
}
