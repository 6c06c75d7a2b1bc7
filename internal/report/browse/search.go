package browse

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
)

// Kinds of a Hit.
const (
	HitEvent        = "event"
	HitUser         = "user"
	HitPayment      = "payment"
	HitSubscription = "subscription"
)

// Hit is something that the search has found by its name.
type Hit struct {
	Kind string `json:"kind"`
	ID   string `json:"id"`
	Text string `json:"text"` // what the name is, or more about the hit
}

// maxHits bounds the hits of a search, of each kind.
const maxHits = 20

// Search looks for the id of an event, user, payment, transaction, order, checkout, subscription, refund or dispute, as the
// provider wrote it or as the tables have it. It also looks for a sequence of the log, and a GitHub user. If nothing has
// the whole text, it looks for ids that begin with it; see hits.beginnings. Only with names it looks
// for beginnings of GitHub names: answers to them would reveal a masked name letter by letter.
func Search(ctx context.Context, db *store.Store, text string, names bool) ([]Hit, error) {
	text = explain.Storable(strings.TrimSpace(text))
	if text == "" {
		return nil, nil
	}
	return viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, _ Moment) ([]Hit, error) {
		found := hits{}
		var seq *int64
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			seq = &n
		}
		err := found.look(ctx, tx, text, text, true, events.PossibleIDs(text), seq)
		if err == nil && len(found) == 0 {
			err = found.beginnings(ctx, tx, text, names)
		}
		if err != nil {
			return nil, fmt.Errorf("search: %w", err)
		}
		return found.firstOfEach(), nil
	})
}

// hits are in the order in which they were found, each thing once.
type hits []Hit

func (h *hits) add(kind, id, text string) {
	for _, known := range *h {
		if known.Kind == kind && known.ID == id {
			return
		}
	}
	*h = append(*h, Hit{kind, id, text})
}

// firstOfEach returns at most maxHits hits of each kind.
func (h *hits) firstOfEach() (out []Hit) {
	of := map[string]int{}
	for _, hit := range *h {
		if of[hit.Kind]++; of[hit.Kind] <= maxHits {
			out = append(out, hit)
		}
	}
	return out
}

//go:embed search.sql
var searchSQL string

// look adds what has an id from one text to another, at most maxHits of a kind and a name; with names also what has
// such a GitHub name. It also adds the events of some ids, and the message at a sequence. What only an event names is
// added if nothing else of its kind is found. The text of a hit has no GitHub name, which may have to be masked.
func (h *hits) look(ctx context.Context, tx pgx.Tx, from, to string, names bool, ids []string, seq *int64) error {
	rows, _ := tx.Query(ctx, searchSQL, from, to, maxHits, names, ids, seq) // ForEachRow returns its error
	var hit Hit
	var named bool
	_, err := pgx.ForEachRow(rows, []any{&hit.Kind, &hit.ID, &hit.Text, &named}, func() error {
		if !named || !slices.ContainsFunc(*h, func(other Hit) bool { return other.Kind == hit.Kind }) {
			h.add(hit.Kind, hit.ID, hit.Text)
		}
		return nil
	})
	return err
}

// MinPrefix is how many characters of the beginning of an id are enough for a search.
const MinPrefix = 3

//go:embed keeps_prefixes.sql
var keepsPrefixesSQL string

// beginnings adds what has an id that begins with text. Each kind is a range of an index, so the database's collation
// must keep ids with the same beginning together; otherwise nothing is added.
func (h *hits) beginnings(ctx context.Context, tx pgx.Tx, text string, names bool) error {
	if utf8.RuneCountInString(text) < MinPrefix {
		return nil
	}
	var kept bool
	if err := tx.QueryRow(ctx, keepsPrefixesSQL).Scan(&kept); err != nil || !kept {
		return err
	}
	return h.look(ctx, tx, text, text+string(utf8.MaxRune), names, nil, nil)
}
