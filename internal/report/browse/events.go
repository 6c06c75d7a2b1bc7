package browse

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// Filter selects events. An empty field selects all. The zero Filter lists the newest events.
type Filter struct {
	Type         string // the exact type, or a prefix with * at its end
	Outcome      string
	Reason       string
	Kind         string
	User         string // the user that the rules found for the event when it was applied
	Payment      string // any of its names
	Subscription string

	From, To time.Time // received at From or later, and before To

	Before int64 // events that are older in the log than this sequence; 0: all
}

// EventList is a page of a list of events, the newest in the log first.
type EventList struct {
	Moment
	Items []explain.WithWhy `json:"items"`

	// Next is Filter.Before for the next page; nil if this is the last one. Events that are
	// applied later do not change the following pages: they come before the first page, except
	// those of a partition that was behind.
	Next *int64 `json:"next_before"`

	// SearchedTo is the sequence down to which the list has every event that was asked for. If
	// Complete is false, the page ends there because it has looked at the maximum number of
	// events. Then it can have few items, or none, although there are more.
	SearchedTo int64 `json:"searched_to"`
	Complete   bool  `json:"complete"`
}

// Events returns a page of at most limit events.
func Events(ctx context.Context, db *store.Store, f Filter, limit int) (EventList, error) {
	return viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, now Moment) (EventList, error) {
		return readEvents(ctx, tx, now, f, limit)
	})
}

// EachEvent calls do with all events of the filter, the newest first, some at a time; see Rows.Each.
func EachEvent(ctx context.Context, db *store.Store, f Filter, do func([]explain.WithWhy) error) error {
	return eachPage(ctx, db, func(ctx context.Context, tx pgx.Tx) ([]explain.WithWhy, bool, error) {
		page, err := readEvents(ctx, tx, Moment{}, f, batchRows)
		if page.Next != nil {
			f.Before = *page.Next
		}
		return page.Items, page.Next == nil, err
	}, do)
}

func readEvents(ctx context.Context, tx pgx.Tx, now Moment, f Filter, limit int) (out EventList, err error) {
	list, err := newListing(ctx, tx, f)
	if err != nil {
		return out, err
	}
	out, seqs, err := list.page(ctx, tx, limit)
	if err != nil {
		return out, fmt.Errorf("list events: %w", err)
	}
	out.Moment = now
	out.Items, err = explainedAt(ctx, tx, seqs)
	return out, err
}

// explainedAt reads and explains the events at these sequences, the newest first.
func explainedAt(ctx context.Context, tx pgx.Tx, seqs []int64) ([]explain.WithWhy, error) {
	events, err := tables.ProcessedEvents.Rows(ctx, tx, "where stream_seq = any($1) order by stream_seq desc", seqs)
	if err != nil {
		return nil, err
	}
	return explain.Explained(ctx, tx, events)
}
