package browse

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math/big"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
)

// Amounts are a number of things with a price in one currency, and the sum of these prices, in the minor unit.
type Amounts struct {
	Currency string `json:"currency"` // empty: the provider gives none
	Count    int64  `json:"count"`
	Sum      Sum    `json:"sum"`
	Priced   int64  `json:"priced"` // how many of them have an amount
}

// readAmounts reads rows of a currency, a count, a sum in digits and the count of known amounts.
func readAmounts(ctx context.Context, tx pgx.Tx, what, sql string) ([]Amounts, error) {
	return store.Collect(ctx, tx, "read "+what, pgx.RowToStructByPos[Amounts], sql)
}

// ReceivedDay is what the events that were received on one day have brought.
type ReceivedDay struct {
	Since         time.Time  `json:"since"` // when the day began
	Complete      bool       `json:"complete"`
	Payments      int64      `json:"payments"`
	Money         []MoneySum `json:"money"` // of these payments
	Subscriptions int64      `json:"new_subscriptions"`
	Refunds       int64      `json:"refunds"` // and disputes
	Credits       int64      `json:"credits_granted"`
}

// MoneySum is a sum in one currency, in the minor unit.
type MoneySum struct {
	Currency string      `json:"currency"`
	Sum      json.Number `json:"sum"` // has all digits
}

//go:embed received_day.sql
var receivedDaySQL string

// readReceivedDay counts what was received from one moment until another. It looks at the newest events of this time, at
// most limit.
func readReceivedDay(ctx context.Context, tx pgx.Tx, since, until time.Time, limit int64) (ReceivedDay, error) {
	out := ReceivedDay{Since: since}
	from, err := explain.SeqAt(ctx, tx, since.Add(-explain.ClockSlack))
	if err != nil {
		return out, err
	}
	to, err := explain.SeqAt(ctx, tx, until.Add(explain.ClockSlack))
	if err != nil {
		return out, err
	}
	err = tx.QueryRow(ctx, receivedDaySQL, from, to, since, until, limit).
		Scan(&out.Complete, &out.Payments, &out.Money, &out.Subscriptions, &out.Refunds, &out.Credits)
	if err != nil {
		return out, fmt.Errorf("count what came on a day: %w", err)
	}
	return out, nil
}

// Silence says when the newest event came, and how long a pause between events is at most, usually.
type Silence struct {
	First   time.Time     `json:"-"` // when the first event of all came
	Since   time.Time     `json:"newest_received_at"`
	Longest time.Duration `json:"-"` // between two of the newest events
	Events  int64         `json:"-"` // that were looked at
}

const (
	silenceEvents = 1000
	// Fewer events, or those of a shorter time, do not tell what is usual. Many come at once when a shop imports its past.
	fewEvents = 100
	fewHours  = 24 * time.Hour
	// Nobody needs to look after a shorter silence.
	shortSilence = time.Hour
)

// Unusual reports whether no event has come for twice as long as ever between the newest ones.
func (s Silence) Unusual(now time.Time) bool {
	silent := now.Sub(s.Since)
	return s.Events >= fewEvents && s.Since.Sub(s.First) >= fewHours && silent > shortSilence && silent > 2*s.Longest
}

//go:embed silence.sql
var silenceSQL string

func readSilence(ctx context.Context, tx pgx.Tx) (out Silence, err error) {
	var newest, first *time.Time
	var seconds float64
	if err = tx.QueryRow(ctx, silenceSQL, silenceEvents).Scan(&out.Events, &newest, &seconds, &first); err != nil {
		return out, fmt.Errorf("read the pauses between events: %w", err)
	}
	if newest != nil {
		out.Since, out.First = *newest, *first
	}
	out.Longest = time.Duration(seconds * float64(time.Second))
	return out, nil
}

// Disputes are those of one currency.
type Disputes struct {
	Amounts
	Payments []string `json:"payments"` // of the newest disputes of all currencies, the newest first
}

//go:embed disputes.sql
var disputesSQL string

const (
	disputesOf  = 7 * 24 * time.Hour
	maxDisputed = 5 // payments that a page names, of all currencies
)

// readDisputes reads the disputes of the last week among the newest events, at most limit.
func readDisputes(ctx context.Context, tx pgx.Tx, now time.Time, limit int64) ([]Disputes, error) {
	since := now.Add(-disputesOf)
	from, err := explain.SeqAt(ctx, tx, since.Add(-explain.ClockSlack))
	if err != nil {
		return nil, err
	}
	return store.Collect(ctx, tx, "read the disputes", pgx.RowToStructByPos[Disputes], disputesSQL, from, since, limit, maxDisputed)
}

// waitingMoneySQL uses the index payment_facts_unclaimed.
const waitingMoneySQL = `select coalesce(currency, ''), count(*), coalesce(sum(amount), 0)::text, count(amount)
	from payment_facts where user_id is null and known and reversed_at is null group by 1 order by 2 desc`

// Sum is an exact sum of amounts, which may be beyond 64 bits. A Sum is immutable. The zero value is 0,
// and every sum of 0 is the zero value.
type Sum struct{ n *big.Int } // nil: 0

func sum(n *big.Int) Sum {
	if n.Sign() == 0 {
		return Sum{}
	}
	return Sum{n}
}

func (s Sum) number() *big.Int {
	if s.n == nil {
		return new(big.Int)
	}
	return s.n
}

// SumOf is the sum of one amount.
func SumOf(n int64) Sum { return sum(big.NewInt(n)) }

// Scan implements sql.Scanner: it reads the digits of a number, which may begin with a minus.
func (s *Sum) Scan(from any) error {
	text, _ := from.(string)
	n, whole := new(big.Int).SetString(text, 10)
	if !whole {
		return fmt.Errorf("read a sum: %v is not a whole number", from)
	}
	*s = sum(n)
	return nil
}

// Add returns s + other.
func (s Sum) Add(other Sum) Sum { return sum(new(big.Int).Add(s.number(), other.number())) }

// Sub returns s - other.
func (s Sum) Sub(other Sum) Sum { return sum(new(big.Int).Sub(s.number(), other.number())) }

// Float is roughly the sum.
func (s Sum) Float() float64 {
	roughly, _ := s.number().Float64()
	return roughly
}

// Int64 returns the sum, if 64 bits can hold it.
func (s Sum) Int64() (n int64, fits bool) { return s.number().Int64(), s.number().IsInt64() }

// String has all digits.
func (s Sum) String() string { return s.number().String() }

// MarshalJSON implements json.Marshaler: a number with all digits.
func (s Sum) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }
