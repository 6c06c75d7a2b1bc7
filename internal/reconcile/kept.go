package reconcile

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/sqlstate"
	"github.com/payfold/payfold/internal/store"
)

// Kept is what is kept of the comparisons with a provider. No promotion touches it.
type Kept struct {
	Provider   string     `json:"provider"`
	ComparedAt *time.Time `json:"compared_at"` // when the last complete comparison began; nil: none was complete
	Since      *time.Time `json:"since"`
	Objects    int64      `json:"objects"` // of the provider that were compared
	Found      []Found    `json:"found"`   // the differences that count
	More       bool       `json:"more"`
	Stranger   bool       `json:"stranger"`

	FailedAt *time.Time `json:"failed_at"` // when a later comparison began that could not be completed; nil: none
	Error    string     `json:"error,omitempty"`
}

// Found counts the differences of one kind and currency.
type Found struct {
	What     What   `json:"difference"`
	Currency string `json:"currency"` // empty: of subscriptions, or not known
	Count    int64  `json:"count"`
	Amount   int64  `json:"amount"` // by how much they differ, in minor units; at most that of 64 bits
}

// KeptDays is how many days a comparison must cover to be kept. A shorter one would hide what the one before found.
const KeptDays = 30

// ErrNotKept means that the comparison cannot be kept: the role may only read, or the schema is that of an older build.
var ErrNotKept = errors.New("the result is not kept for the console, because this role of the database may only read, or no projector of this version has started yet")

//go:embed keep.sql
var keepSQL string

//go:embed keep_failure.sql
var keepFailureSQL string

//go:embed kept.sql
var keptSQL string

// Keep keeps the result of a complete comparison that began at began.
func Keep(ctx context.Context, s *store.Store, result Result, began time.Time) error {
	objects := result.Payments + result.Subscriptions + result.Refunds
	_, err := s.Pool().Exec(ctx, keepSQL, result.Provider, began, result.Since, objects, result.sums(), result.More, result.Stranger)
	return keptError(err)
}

// maxError bounds the text of an error that is kept.
const maxError = 500

// KeepFailure keeps that a comparison that began at began could not be completed, and why.
func KeepFailure(ctx context.Context, s *store.Store, provider string, began time.Time, why error) error {
	text := strings.ToValidUTF8(strings.ReplaceAll(why.Error(), "\x00", ""), "")
	if runes := []rune(text); len(runes) > maxError {
		text = string(runes[:maxError]) + "…"
	}
	_, err := s.Pool().Exec(ctx, keepFailureSQL, provider, began, text)
	return keptError(err)
}

func keptError(err error) error {
	switch sqlstate.Of(err) {
	case "42501", "25006", "42P01": // insufficient_privilege, read_only_sql_transaction, undefined_table
		return ErrNotKept
	}
	if err != nil {
		return fmt.Errorf("keep the result for the console: %w", err)
	}
	return nil
}

// AllKept returns what is kept of the comparisons, by provider.
func AllKept(ctx context.Context, tx pgx.Tx) ([]Kept, error) {
	var made bool // by the projector's migration, which comes after the console's start
	if err := tx.QueryRow(ctx, "select to_regclass('payfold.reconciled') is not null").Scan(&made); err != nil || !made {
		return []Kept{}, err
	}
	return store.Collect(ctx, tx, "read the comparisons with the providers", pgx.RowToStructByPos[Kept], keptSQL)
}

// sums counts the differences that count, those of the most money first.
func (r Result) sums() []Found {
	out := []Found{}
	for i := range r.Found {
		d := &r.Found[i]
		if d.Lagging != "" {
			continue
		}
		currency, amount := d.money()
		at := slices.IndexFunc(out, func(f Found) bool { return f.What == d.What && f.Currency == currency })
		if at < 0 {
			at = len(out)
			out = append(out, Found{What: d.What, Currency: currency})
		}
		out[at].Count++
		if out[at].Amount += amount; out[at].Amount < 0 {
			out[at].Amount = math.MaxInt64
		}
	}
	slices.SortFunc(out, func(a, b Found) int {
		return cmp.Or(cmp.Compare(b.Amount, a.Amount), cmp.Compare(a.What, b.What), cmp.Compare(a.Currency, b.Currency))
	})
	return out
}

// money is by how much the two sides differ: all of what only one of them has, or has in another currency.
func (d *Difference) money() (currency string, amount int64) {
	side, other := d.Provider, d.Tables
	if side.Amount == nil {
		side, other = other, side
	}
	if side.Amount == nil {
		return "", 0
	}
	amount = max(*side.Amount, 0)
	if other.Amount != nil && other.Currency == side.Currency {
		amount = max(amount, *other.Amount) - max(min(amount, *other.Amount), 0)
	}
	return side.Currency, amount
}
