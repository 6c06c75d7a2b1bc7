package store

import (
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// Fold folds one event into the state. It turns a panic of the rules into a RefusedError
// of that event.
func Fold(rules projections.Rules, state *projections.State, event events.Event) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = &RefusedError{Seq: event.Seq, Cause: fmt.Errorf("the rules panicked: %v", cause)}
		}
	}()
	rules.Fold(state, event)
	return nil
}

// QueueChanges queues the statements that write what the fold changed. Those of the live
// schema also notify the inviter and apps.
func (s *Store) QueueChanges(writes *pgx.Batch, state *projections.State) {
	for _, c := range tables.Changes(state) {
		c.Queue(writes)
	}
	if s.schema == LiveSchema {
		queueLicensesChanged(writes, state)
		queueChanged(writes, state)
	}
}
