package browse

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
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
// the whole text, it looks for ids that begin with it; see hits.prefixes. Only with names it looks
// for beginnings of GitHub names: answers to them would reveal a masked name letter by letter.
func Search(ctx context.Context, db *store.Store, text string, names bool) ([]Hit, error) {
	text = explain.Storable(strings.TrimSpace(text))
	if text == "" {
		return []Hit{}, nil
	}
	return viewEvents(ctx, db, func(ctx context.Context, tx pgx.Tx, _ Moment) ([]Hit, error) {
		found := hits{}
		for _, look := range []func(context.Context, pgx.Tx, string) error{
			found.events, found.messages, found.payments, found.checkouts, found.subscriptions, found.users, found.gitHubUsers, found.reversals,
		} {
			if err := look(ctx, tx, text); err != nil {
				return nil, fmt.Errorf("search: %w", err)
			}
		}
		if len(found) > 0 {
			return found, nil
		}
		if err := found.prefixes(ctx, tx, text, names); err != nil {
			return nil, fmt.Errorf("search for a beginning: %w", err)
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
func (h *hits) firstOfEach() []Hit {
	out, of := []Hit{}, map[string]int{}
	for _, hit := range *h {
		if of[hit.Kind]++; of[hit.Kind] <= maxHits {
			out = append(out, hit)
		}
	}
	return out
}

func (h *hits) events(ctx context.Context, tx pgx.Tx, id string) error {
	found, err := tables.ProcessedEvents.Rows(ctx, tx, "where event_id = any($1)", events.PossibleIDs(id))
	h.addEvents(found)
	return err
}

func (h *hits) addEvents(found []projections.ProcessedEvent) {
	for _, e := range found {
		h.add(HitEvent, e.EventID, fmt.Sprintf("%s, seq %d", cmp.Or(e.EventType, "event"), e.StreamSeq))
	}
}

func (h *hits) messages(ctx context.Context, tx pgx.Tx, seq string) error {
	n, err := strconv.ParseInt(seq, 10, 64)
	if err != nil {
		return nil
	}
	found, err := tables.ProcessedEvents.Rows(ctx, tx, "where stream_seq = $1", n)
	h.addEvents(found)
	if err != nil {
		return err
	}
	duplicates, err := tables.DuplicateEvents.Rows(ctx, tx, "where stream_seq = $1", n)
	for _, d := range duplicates {
		h.add(HitEvent, d.EventID, fmt.Sprintf("duplicate at seq %d", n))
	}
	return err
}

func (h *hits) payments(ctx context.Context, tx pgx.Tx, name string) error {
	found, err := tables.PaymentsNamed(ctx, tx, []string{name})
	if err != nil {
		return err
	}
	for _, p := range found {
		h.add(HitPayment, p.ProviderPaymentID, paymentName(p, name))
	}
	if len(found) > 0 {
		return nil
	}
	return h.namedBy(ctx, tx, HitPayment, "provider_payment_id", name)
}

// checkouts adds the payments of a checkout.
func (h *hits) checkouts(ctx context.Context, tx pgx.Tx, id string) error {
	found, err := tables.Payments.Rows(ctx, tx, "where provider_checkout_id = $1 order by stream_seq limit $2", id, maxHits)
	for _, p := range found {
		h.add(HitPayment, p.ProviderPaymentID, "checkout")
	}
	return err
}

func paymentName(p projections.Payment, name string) string {
	switch name {
	case p.TransactionID:
		return "transaction"
	case p.OrderID:
		return "order"
	}
	return "payment"
}

func (h *hits) subscriptions(ctx context.Context, tx pgx.Tx, id string) error {
	found, err := tables.SubscriptionStates.Row(ctx, tx, "where subscription_id = $1", id)
	if err != nil {
		return err
	}
	if found != nil {
		h.add(HitSubscription, id, found.Status)
		return nil
	}
	return h.namedBy(ctx, tx, HitSubscription, "subscription_id", id)
}

func (h *hits) users(ctx context.Context, tx pgx.Tx, user string) error {
	return h.namedBy(ctx, tx, HitUser, "user_id", user)
}

// namedBy adds what an event names.
func (h *hits) namedBy(ctx context.Context, tx pgx.Tx, kind, column, name string) error {
	event, err := tables.ProcessedEvents.Row(ctx, tx, "where "+column+" = $1 order by stream_seq desc limit 1", name)
	if err == nil && event != nil {
		h.add(kind, name, fmt.Sprintf("named by %s", event.EventID))
	}
	return err
}

// gitHubUser is the text of a hit. It does not contain the name, which may have to be masked.
const gitHubUser = "its GitHub user"

// gitHubUsers adds the users whose purchases invite a GitHub user. GitHub ignores case.
func (h *hits) gitHubUsers(ctx context.Context, tx pgx.Tx, name string) error {
	found, err := tables.Payments.Rows(ctx, tx, "where github_username is not null and lower(github_username) = lower($1) limit $2", name, maxHits)
	for _, p := range found {
		switch user := p.UserID; {
		case user != "":
			h.add(HitUser, user, gitHubUser)
		default:
			h.add(HitPayment, p.ProviderPaymentID, gitHubUser)
		}
	}
	return err
}

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
