package browse

import (
	"cmp"
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// RejectedAnswer shows what an operator has to look at: events that the rules have rejected,
// quarantined events, and payments that have granted nothing yet.
type RejectedAnswer struct {
	Moment
	Groups      []RejectedGroup                    `json:"groups"`     // the one with the newest event first; nil: they are still being counted
	CountedTo   int64                              `json:"counted_to"` // the sequence up to which they are counted
	Quarantined status.Counted[status.Quarantined] `json:"quarantined_events"`
	Waiting     status.Waiting                     `json:"waiting_for_user"`
}

// RejectedGroup has the rejected events of one reason and type.
type RejectedGroup struct {
	Reason  string            `json:"reason"`
	Type    string            `json:"event_type"`
	Meaning string            `json:"meaning"` // of the reason
	Advice  string            `json:"advice"`  // what to do
	Events  int64             `json:"events"`
	Oldest  explain.WithWhy   `json:"oldest"`
	Newest  []explain.WithWhy `json:"newest"` // some, the newest first
	// Products has the provider's ids of the products that the catalogue does not have, of the newest events.
	Products []string `json:"products,omitempty"`
}

// Rejected groups all rejected events. See Totals for the times when they are not counted yet.
func (c *Counter) Rejected(ctx context.Context, db *store.Store) (RejectedAnswer, error) {
	return counting(ctx, c, db, func(ctx context.Context, tx pgx.Tx, now Moment, all tally, complete bool) (out RejectedAnswer, err error) {
		out = RejectedAnswer{Moment: now, CountedTo: all.position}
		if complete {
			if out.Groups, err = rejectedGroups(ctx, tx, all.groups); err != nil {
				return out, err
			}
		}
		state, err := status.ReadDatabase(ctx, tx, db.Schema())
		out.Quarantined, out.Waiting = state.Quarantined, state.Waiting
		return out, err
	})
}

func rejectedGroups(ctx context.Context, tx pgx.Tx, counts map[group]groupCount) ([]RejectedGroup, error) {
	var seqs []int64
	for _, count := range counts {
		if len(count.newest) > 0 {
			seqs = append(append(seqs, count.oldest), count.newest...)
		}
	}
	events, err := explainedAt(ctx, tx, seqs)
	if err != nil {
		return nil, err
	}
	bySeq := map[int64]explain.WithWhy{}
	for _, e := range events {
		bySeq[e.StreamSeq] = e
	}
	groups := []RejectedGroup{}
	for of, count := range counts {
		if of.outcome != string(projections.Rejected) {
			continue
		}
		g := RejectedGroup{
			Reason: of.reason, Type: of.eventType, Meaning: explain.Meaning(of.reason),
			Events: count.events, Oldest: bySeq[count.oldest],
		}
		for _, seq := range count.newest {
			e := bySeq[seq]
			g.Newest = append(g.Newest, e)
			if e.Product != "" && !slices.Contains(g.Products, e.Product) {
				g.Products = append(g.Products, e.Product)
			}
		}
		g.Advice = advice(of.reason, len(g.Newest) > 0 && g.Newest[0].IsReversal())
		groups = append(groups, g)
	}
	slices.SortFunc(groups, func(a, b RejectedGroup) int { return cmp.Compare(b.Newest[0].StreamSeq, a.Newest[0].StreamSeq) })
	return groups, nil
}
