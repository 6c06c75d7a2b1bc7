package attention

import (
	"context"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/store"
)

// Urgent returns what somebody has to look at now, one sentence each. ask asks ingest for its state; nil: it is not asked.
func Urgent(ctx context.Context, log lag.Log, tables *store.Store, ask func(context.Context) (logreport.Ingest, error)) ([]string, error) {
	health, err := browse.Health(ctx, log, tables)
	if err != nil {
		return nil, err
	}
	parts := Parts{Status: &health.Status, Silence: health.Silence, Now: health.Database.At}
	if ask != nil {
		if state, err := ask(ctx); err != nil {
			parts.Fault = err.Error()
		} else {
			parts.Ingest = &state
		}
	}
	var list List
	list.OfParts(parts)
	list.OfTables(&health.Status)
	list.OfDamage(parts.Ingest)
	list.OfArchive(parts.Ingest)
	list.OfInvitations(health.Pauses)
	var said []string
	for _, concern := range list {
		if concern.Urgent {
			said = append(said, concern.What)
		}
	}
	return said, nil
}
