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
	var list List
	var ingest *logreport.Ingest
	if ask != nil {
		state, err := ask(ctx)
		if err != nil {
			list.OfIngest(nil, err.Error())
		} else {
			ingest = &state
			list.OfIngest(ingest, "")
		}
	}
	list.OfParts(&health.Status)
	list.OfSilence(health.Silence, health.Database.At)
	list.OfTables(&health.Status)
	list.OfDamage(ingest)
	list.OfArchive(ingest)
	list.OfInvitations(health.Pauses)
	var said []string
	for _, concern := range list {
		if concern.Urgent {
			said = append(said, concern.What)
		}
	}
	return said, nil
}
