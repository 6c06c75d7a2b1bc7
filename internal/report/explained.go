package report

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// Explained is an event with the sentences that say what it did and why.
type Explained struct {
	projections.ProcessedEvent
	Why string
}

// ExplainEvents explains events, in a fixed number of statements.
func ExplainEvents(ctx context.Context, tx pgx.Tx, list []projections.ProcessedEvent) ([]Explained, error) {
	related, err := readRelated(ctx, tx, list)
	if err != nil {
		return nil, err
	}
	return explained(list, related), nil
}

func explained(list []projections.ProcessedEvent, related Related) []Explained {
	out := make([]Explained, len(list))
	for i, e := range list {
		out[i] = Explained{e, Why(e, related)}
	}
	return out
}

// MarshalJSON implements json.Marshaler: the columns of the event, and "why".
func (e Explained) MarshalJSON() ([]byte, error) {
	columns, err := row{e.ProcessedEvent}.MarshalJSON()
	if err != nil {
		return nil, err
	}
	sentence, err := page.Marshal(e.Why)
	if err != nil {
		return nil, err
	}
	return append(append(append(columns[:len(columns)-1], `,"why":`...), sentence...), '}'), nil
}
