package browse

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/status"
	"github.com/payfold/payfold/internal/store"
)

// RejectedAnswer shows what an operator has to look at: events that the rules have rejected,
// quarantined events, and payments that have granted nothing yet.
type RejectedAnswer struct {
	Moment
	Ungranted      []Ungranted                        `json:"ungranted"`                 // purchases, by currency, the most money first
	UngrantedAt    time.Time                          `json:"ungranted_at"`              // when these were added up
	UngrantedFault string                             `json:"ungranted_fault,omitempty"` // why there are none
	Groups         []RejectedGroup                    `json:"groups"`                    // the one with the newest event first
	Complete       bool                               `json:"complete"`                  // false: there are more rejected events, older ones
	Quarantined    status.Counted[status.Quarantined] `json:"quarantined_events"`
	Waiting        status.Waiting                     `json:"waiting_for_user"`
}

// RejectedGroup has the rejected events of one reason and type.
type RejectedGroup struct {
	Reason  string            `json:"reason"`
	Type    string            `json:"event_type"`
	Meaning string            `json:"meaning"` // of the reason
	Advice  string            `json:"advice"`  // what to do; may end with CompleteIt
	Events  int64             `json:"events"`
	Oldest  explain.WithWhy   `json:"oldest"`
	Newest  []explain.WithWhy `json:"newest"` // some, the newest first
	// Products has the provider's ids of the products that the catalogue does not have, of the newest events.
	Products []string `json:"products,omitempty"`
}

// OwnAdvice is the advice without CompleteIt.
func (g *RejectedGroup) OwnAdvice() string { return strings.TrimSuffix(g.Advice, CompleteIt) }

// maxNewest is how many events are shown of a group.
const maxNewest = 5

// Rejected groups the newest rejected events. It looks at a bounded number of them. The purchases are those of Figures.
func (m *Measures) Rejected(ctx context.Context, db *store.Store) (RejectedAnswer, error) {
	out, err := viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (out RejectedAnswer, err error) {
		out.Moment = now
		if out.Groups, out.Complete, err = rejectedGroups(ctx, tx, namedWindow); err != nil {
			return out, fmt.Errorf("group the rejected events: %w", err)
		}
		state, err := status.ReadDatabase(ctx, tx, db.Schema())
		out.Quarantined, out.Waiting = state.Quarantined, state.Waiting
		return out, err
	})
	if err != nil {
		return out, err
	}
	purchases, err := m.ungranted.get(ctx, db)
	out.Ungranted, out.UngrantedAt, out.UngrantedFault = purchases.value, purchases.At, purchases.fault
	return out, err
}

// EachUngranted calls do with the groups of RejectedAnswer.Ungranted, each with all its purchases.
func EachUngranted(ctx context.Context, db *store.Store, do func([]Ungranted) error) error {
	return eachPage(ctx, db, func(ctx context.Context, tx pgx.Tx) ([]Ungranted, bool, error) {
		groups, err := readUngranted(ctx, tx, namedWindow, namedWindow, namedWindow)
		return groups, true, err
	}, do)
}

//go:embed newest_rejected.sql
var newestRejectedSQL string

// seqsOfGroup are the sequences of the events that are shown of a group.
type seqsOfGroup struct {
	oldest int64
	newest []int64 // the newest first
}

// rejectedGroups groups the newest rejected events, at most limit. It reports whether these are all.
func rejectedGroups(ctx context.Context, tx pgx.Tx, limit int64) (groups []RejectedGroup, complete bool, err error) {
	var shown []seqsOfGroup
	var all []int64
	var counted int64
	rows, _ := tx.Query(ctx, newestRejectedSQL, limit, maxNewest) // ForEachRow returns its error
	var g RejectedGroup
	var of seqsOfGroup
	_, err = pgx.ForEachRow(rows, []any{&g.Reason, &g.Type, &g.Events, &of.oldest, &of.newest}, func() error {
		counted += g.Events
		of.newest = slices.Clone(of.newest)
		groups, shown = append(groups, g), append(shown, of)
		all = append(append(all, of.oldest), of.newest...)
		return nil
	})
	if err != nil {
		return nil, false, err
	}
	events, err := explainedAt(ctx, tx, all)
	if err != nil {
		return nil, false, err
	}
	bySeq := map[int64]explain.WithWhy{}
	for _, e := range events {
		bySeq[e.StreamSeq] = e
	}
	for i := range groups {
		groups[i].show(shown[i], bySeq)
	}
	return groups, counted < limit, nil
}

// show adds the events, and what they and the reason mean.
func (g *RejectedGroup) show(of seqsOfGroup, bySeq map[int64]explain.WithWhy) {
	g.Oldest, g.Meaning = bySeq[of.oldest], explain.Meaning(g.Reason)
	for _, seq := range of.newest {
		e := bySeq[seq]
		g.Newest = append(g.Newest, e)
		if e.Product != "" && !slices.Contains(g.Products, e.Product) {
			g.Products = append(g.Products, e.Product)
		}
	}
	g.Advice = advice(g.Reason, g.Newest[0].IsReversal())
}
