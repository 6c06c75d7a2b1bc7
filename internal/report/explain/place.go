package explain

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/page"
)

// Clocks by which a Place can name a moment.
const (
	ReceiptClock  = "receipt"  // of ingest, when it received an event
	ProviderClock = "provider" // of the provider, when it says that the event happened
)

// Clocks lists the clocks.
var Clocks = []string{ReceiptClock, ProviderClock}

// Place is where a page of a user's history ends. The zero Place is the present end.
type Place struct {
	Before int64     // only events before this sequence; 0: see At
	At     time.Time // only events before this moment
	Clock  string    // of At
}

// ErrPlace means that a text is no place, or that its moment has not come.
var ErrPlace = errors.New("no such moment")

// ParsePlace reads a place: a sequence, or a moment by a clock; without a clock it is ReceiptClock. A date without a zone
// is read in the given one. The empty text is the zero Place.
func ParsePlace(text, clock string, zone *time.Location) (Place, error) {
	switch clock {
	case "":
		clock = ReceiptClock
	case ReceiptClock, ProviderClock:
	default:
		return Place{}, fmt.Errorf("%w: a clock is %s or %s", ErrPlace, ReceiptClock, ProviderClock)
	}
	if at, ok := page.ParseTime(text, zone); ok {
		return Place{At: at, Clock: clock}, nil
	}
	before, err := ParseSequence(text)
	if err != nil {
		return Place{}, fmt.Errorf("%w: it is a date such as 2026-01-31, or a sequence from 1", ErrPlace)
	}
	return Place{Before: before}, nil
}

// ParseSequence reads the sequence before which a page of a list ends. If the text is empty, it returns 0, the end of
// the list.
func ParseSequence(text string) (before int64, err error) {
	if text == "" {
		return 0, nil
	}
	if before, err = strconv.ParseInt(text, 10, 64); err != nil || before < 1 {
		return 0, errors.New("a place is a sequence from 1, or next_before of an earlier answer")
	}
	return before, nil
}

// AsOf is the older moment that an answer shows.
type AsOf struct {
	Seq   int64     `json:"seq"` // the last event that the tables had then; 0: none
	At    time.Time `json:"at"`  // decides what was available and expired
	Clock string    `json:"clock"`
}

//go:embed place_of_user.sql
var placeOfUser string

//go:embed end_of_tables.sql
var endOfTables string

// goTo finds the sequence before which the page ends, and the moment that it shows. A page that ends at the present end
// of tables that grow is of now.
func (p *userPage) goTo(ctx context.Context, place Place, schema string) (err error) {
	if place.At.After(p.user.At) {
		return fmt.Errorf("%w: %s is in the future", ErrPlace, at(place.At))
	}
	p.before = math.MaxInt64
	switch {
	case place.Before > 0:
		p.before = place.Before
	case place.At.IsZero():
	case place.Clock == ProviderClock:
		err = p.goToProviderTime(ctx, place.At)
	default:
		p.before, err = SeqAt(ctx, p.tx, place.At)
	}
	if err != nil {
		return err
	}
	var ends bool
	var seq *int64
	var received *time.Time
	if err := p.tx.QueryRow(ctx, endOfTables, schema, p.before).Scan(&ends, &seq, &received); err != nil {
		return fmt.Errorf("look for the end of the tables: %w", err)
	}
	if place == (Place{}) && !ends {
		return nil
	}
	p.user.AsOf = &AsOf{At: place.At, Clock: ReceiptClock}
	if !place.At.IsZero() {
		p.user.AsOf.Clock = place.Clock
	}
	if seq != nil {
		p.user.AsOf.Seq = *seq
		if p.user.AsOf.At.IsZero() {
			p.user.AsOf.At = *received
		}
	}
	return nil
}

// goToProviderTime ends the page before the user's first event that happened at a moment or later.
func (p *userPage) goToProviderTime(ctx context.Context, moment time.Time) error {
	// What was received before the moment happened before it, if the provider's clock is not ahead by more.
	first, err := SeqAt(ctx, p.tx, moment.Add(-ClockSlack))
	if err != nil {
		return err
	}
	var seq *int64
	if err := p.tx.QueryRow(ctx, placeOfUser, p.user.ID, first, moment, p.subscriptions).Scan(&seq); err != nil {
		return fmt.Errorf("look for the events from %s on: %w", at(moment), err)
	}
	if seq != nil {
		p.before = *seq
	}
	return nil
}

// ClockSlack is how much earlier an event may have been received than the event before it in the log. Ingest takes the
// time before it appends, several ingests may run, and clocks are set.
const ClockSlack = 10 * time.Minute

//go:embed seq_at.sql
var seqAt string

// SeqAt returns the first sequence from which on all events were received at a moment or later. It relies on received_at
// growing with the sequence, apart from ClockSlack.
func SeqAt(ctx context.Context, tx pgx.Tx, moment time.Time) (seq int64, err error) {
	if err := tx.QueryRow(ctx, seqAt, moment).Scan(&seq); err != nil {
		return 0, fmt.Errorf("look for the events at %s: %w", moment.Format(time.RFC3339), err)
	}
	return seq, nil
}
