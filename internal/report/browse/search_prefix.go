package browse

import (
	"context"
	_ "embed"
	"fmt"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// minPrefix is how many characters of the beginning of an id are enough for a search.
const minPrefix = 3

//go:embed keeps_prefixes.sql
var keepsPrefixesSQL string

//go:embed search_prefix.sql
var searchPrefixSQL string

// prefixes adds what has an id that begins with text, at most maxHits of a kind; with names also what has a
// GitHub name that begins so. Each kind is a range of an index, so
// the database's collation must keep ids with the same beginning together; otherwise nothing is added.
func (h *hits) prefixes(ctx context.Context, tx pgx.Tx, text string, names bool) error {
	if utf8.RuneCountInString(text) < minPrefix {
		return nil
	}
	var kept bool
	if err := tx.QueryRow(ctx, keepsPrefixesSQL).Scan(&kept); err != nil || !kept {
		return err
	}
	rows, _ := tx.Query(ctx, searchPrefixSQL, text, text+string(utf8.MaxRune), maxHits, names) // ForEachRow returns its error
	var hit Hit
	_, err := pgx.ForEachRow(rows, []any{&hit.Kind, &hit.ID, &hit.Text}, func() error {
		h.add(hit.Kind, hit.ID, hit.Text)
		return nil
	})
	return err
}

// reversals adds the payments of a refund or dispute.
func (h *hits) reversals(ctx context.Context, tx pgx.Tx, id string) error {
	rows, _ := tx.Query(ctx, "select provider_payment_id, cause from reversal where reversal_id = $1 and reversal_id <> event_id limit $2", id, maxHits)
	var payment, cause string
	_, err := pgx.ForEachRow(rows, []any{&payment, &cause}, func() error {
		h.add(HitPayment, payment, fmt.Sprintf("its %s %s", cause, id))
		return nil
	})
	return err
}
