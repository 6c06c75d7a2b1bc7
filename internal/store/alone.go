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
	any     bool               // whether they have any rows
	written *bloom.BloomFilter // the names of all their rows; may say yes to others. nil: not known
	asked   map[string]set     // by kind, the names looked for since the state was new
}

// One name in a hundred that the tables do not have is looked for in vain.
const falsePositives = 0.01

// namesPerEvent is what the months of a real shop come to, about. Where there
// are more, more is looked for in vain.
const namesPerEvent = 3

// To read the names of eight events takes as long as to look for those of one
// that may not be there, about.
const readPerLook = 8

func newAlone() *alone { return &alone{asked: map[string]set{}} }

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
		if _, done := asked[name]; !done && a.mayHave(name) {
			fresh.add(name)
		}
	}
	for name := range fresh {
		asked.add(name)
	}
	return fresh.list()
}

func (a *alone) mayHave(name string) bool { return a.written == nil || a.written.TestString(name) }

// learn notes the names of a state whose rows are being written into the tables.
func (a *alone) learn(state *projections.State) {
	if a.written != nil {
		state.EachName(func(name string) { a.written.AddString(name) })
	}
}

// renew: the tables have some rows, and the next state is a new one.
func (a *alone) renew() { a.any, a.asked = true, map[string]set{} }

// resume looks at what is in the tables, which stand at position and are to be
// brought up to until. The names of their rows are read where that pays: a
// promotion that adds the last few events keeps others waiting.
func (a *alone) resume(ctx context.Context, connection *pgx.Conn, position, until uint64) error {
	if err := connection.QueryRow(ctx, "select exists (select from processed_event)").Scan(&a.any); err != nil {
		return fmt.Errorf("look for rows: %w", err)
	}
	if a.any && until < position+position/readPerLook {
		return nil
	}
	a.written = bloom.NewWithEstimates(uint(max(until, 1_000)*namesPerEvent), falsePositives)
	rows, err := connection.Query(ctx, namesOfRows)
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	var name string
	_, err = pgx.ForEachRow(rows, []any{&name}, func() error {
		a.written.AddString(name)
		return nil
	})
	if err != nil {
		return fmt.Errorf("read the names of what is there: %w", err)
	}
	return nil
}
