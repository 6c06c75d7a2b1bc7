package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/tables"
)

//go:embed waiting.sql
var waitingSQL string

//go:embed list_waiting.sql
var listWaitingSQL string

// Waiting counts the payments that are paid and not granted, because no event has named their user
// yet. A fully refunded payment does not wait.
type Waiting struct {
	Payments int64      `json:"payments"`
	Since    *time.Time `json:"oldest_occurred_at"` // of the oldest payment, by the provider's time; nil if none waits
	Seconds  float64    `json:"seconds"`            // since then, by the database's clock
}

// WaitingPayment is a payment that waits for its user.
type WaitingPayment struct {
	ProviderPaymentID string    `json:"provider_payment_id"`
	Kind              string    `json:"kind"`
	SubscriptionID    string    `json:"subscription_id"`
	EventID           string    `json:"event_id"`
	OccurredAt        time.Time `json:"occurred_at"`
}

// Waiting counts the payments that wait for their user. The time of the query depends on their
// number, not on the number of all payments.
func (s *Store) Waiting(ctx context.Context) (out Waiting, err error) {
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, tables.PreferIndexes); err != nil {
			return err
		}
		return readWaiting(ctx, tx, &out)
	})
	if err != nil {
		return out, fmt.Errorf("count the payments that wait for their user: %w", err)
	}
	return out, nil
}

// WaitingPayments counts the payments that wait for their user, and lists up to limit of
// them, the oldest first.
func WaitingPayments(ctx context.Context, tx pgx.Tx, limit int) (counted Waiting, oldest []WaitingPayment, err error) {
	if err := readWaiting(ctx, tx, &counted); err != nil {
		return counted, nil, err
	}
	rows, _ := tx.Query(ctx, listWaitingSQL, limit) // CollectRows returns its error
	oldest, err = pgx.CollectRows(rows, pgx.RowToStructByPos[WaitingPayment])
	return counted, oldest, err
}

func readWaiting(ctx context.Context, tx pgx.Tx, into *Waiting) error {
	return tx.QueryRow(ctx, waitingSQL).Scan(&into.Payments, &into.Since, &into.Seconds)
}
