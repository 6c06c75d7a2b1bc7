package status

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Database is the state of the database at one moment.
type Database struct {
	At           time.Time            `json:"at"` // by the database's clock
	Live         store.Schema         `json:"live"`
	Partitions   []Partition          `json:"-"` // Status adds the lag
	Members      []Member             `json:"members"`
	*EventCounts                      // nil: they were not counted
	Waiting      Waiting              `json:"waiting_for_user"`
	OutOfOrder   Counted[OutOfOrder]  `json:"out_of_order_events"`
	Quarantined  Counted[Quarantined] `json:"quarantined_events"`
	Schemas      []store.Schema       `json:"schemas"`
}

// Partition is the state of one partition of the log.
type Partition struct {
	Number   int        `json:"partition"`
	Position int64      `json:"position"`       // the tables have all its messages up to this sequence
	Owner    string     `json:"owner"`          // of the lease; empty: none, or expired
	Waiting  *uint64    `json:"waiting" db:"-"` // messages that are not applied; nil if the log cannot be reached
	Oldest   *time.Time `json:"oldest_received_at" db:"-"`
}

// Member is a projector that shares the work.
type Member struct {
	Owner      string    `json:"owner"`
	LastSeen   time.Time `json:"last_seen"`
	Partitions int64     `json:"partitions"` // number of leases that have not expired
}

// IsWorkedOn reports whether any partition has a projector. Members cannot show this, because a killed projector
// stays a member until another one evicts it.
func (s *Database) IsWorkedOn() bool {
	return slices.ContainsFunc(s.Partitions, func(p Partition) bool { return p.Owner != "" })
}

// EventCounts counts all messages that the tables have.
type EventCounts struct {
	Outcomes   []OutcomeCount `json:"outcomes"`
	Duplicates int64          `json:"duplicate_events"` // messages with the id of an earlier event
}

// Total is the number of all events.
func (c EventCounts) Total() (total int64) {
	for _, o := range c.Outcomes {
		total += o.Events
	}
	return total
}

// OutcomeCount counts the events with one outcome; rejected events are counted by reason.
type OutcomeCount struct {
	Outcome string `json:"outcome"`
	Reason  string `json:"reason,omitempty"`
	Events  int64  `json:"events"`
}

// Waiting counts the payments whose user is not known yet. Oldest has some of them,
// the oldest first.
type Waiting struct {
	store.Waiting
	Oldest []store.WaitingPayment `json:"oldest"`
}

// Counted has the number of all items. Newest has some of them, the newest first.
type Counted[T any] struct {
	Count  int64 `json:"count"`
	Newest []T   `json:"newest"`
}

const (
	maxShown       = 10  // items of a list
	maxQuarantined = 100 // quarantined events, each of which is tried again by its sequence
)

//go:embed partitions.sql
var partitionsSQL string

//go:embed members.sql
var membersSQL string

// readWithCounts reads the status in one transaction. It counts all events: some millions
// take a second. The error is store.ErrNotPrepared if there are no tables yet.
func readWithCounts(ctx context.Context, database *store.Store) (out Database, err error) {
	err = database.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if out, err = ReadDatabase(ctx, tx, database.Schema()); err != nil {
			return err
		}
		out.EventCounts = &EventCounts{}
		return out.EventCounts.read(ctx, tx)
	})
	return out, err
}

func (c *EventCounts) read(ctx context.Context, tx pgx.Tx) (err error) {
	c.Outcomes, err = store.Collect(ctx, tx, "read the outcomes", pgx.RowToStructByPos[OutcomeCount],
		"select outcome, coalesce(reason, ''), count(*) from processed_event group by 1, 2 order by 1, 2")
	if err != nil {
		return err
	}
	if err := tx.QueryRow(ctx, "select count(*) from duplicate_event").Scan(&c.Duplicates); err != nil {
		return fmt.Errorf("read the duplicates: %w", err)
	}
	return nil
}

// ReadDatabase reads the status of the schema's tables without EventCounts, so its time does
// not depend on the number of events. The error is store.ErrNotPrepared if there are no
// tables.
func ReadDatabase(ctx context.Context, tx pgx.Tx, schema string) (out Database, err error) {
	if out.Schemas, err = store.SchemasIn(ctx, tx); err != nil {
		return out, err
	}
	at := slices.IndexFunc(out.Schemas, func(s store.Schema) bool { return s.Name == schema })
	if at < 0 {
		return out, store.ErrNotPrepared
	}
	out.Live = out.Schemas[at]
	if err = tx.QueryRow(ctx, "select now()").Scan(&out.At); err != nil {
		return out, fmt.Errorf("read the clock: %w", err)
	}
	out.Partitions, err = store.Collect(ctx, tx, "read the partitions", pgx.RowToStructByPos[Partition], partitionsSQL)
	if err != nil {
		return out, err
	}
	out.Members, err = store.Collect(ctx, tx, "read the members", pgx.RowToStructByPos[Member], membersSQL)
	if err != nil {
		return out, err
	}
	if out.Waiting.Waiting, out.Waiting.Oldest, err = store.WaitingPayments(ctx, tx, maxShown); err != nil {
		return out, fmt.Errorf("read the payments that wait for their user: %w", err)
	}
	if out.OutOfOrder.Count, err = store.CountOutOfOrder(ctx, tx, schema); err != nil {
		return out, fmt.Errorf("count the out-of-order events: %w", err)
	}
	if out.OutOfOrder.Newest, err = ReadOutOfOrder(ctx, tx, schema, nil, maxShown); err != nil {
		return out, err
	}
	const quarantined = "select count(*) from payfold.quarantined_event where log_id = $1"
	if err = tx.QueryRow(ctx, quarantined, out.Live.LogID).Scan(&out.Quarantined.Count); err != nil {
		return out, fmt.Errorf("count the quarantined events: %w", err)
	}
	out.Quarantined.Newest, err = ReadQuarantined(ctx, tx, out.Live.LogID, nil, maxQuarantined)
	return out, err
}
