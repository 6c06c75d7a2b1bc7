package explain

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// Wallet shows what is left of a user's grants of credits, and what the user's spends and holds took. Only the live
// tables have one. It is as of now, whatever page of the history it is shown with.
type Wallet struct {
	Sums   *WalletSums `json:"credits"` // nil: the ledger has too many lines to add them up; then there are no grants either
	Grants Part[Grant] `json:"grants"`  // the newest ones, in the order in which they are spent
	Spends Part[Spend] `json:"spends"`  // in the order of time
}

// WalletSums adds up all grants of a user.
type WalletSums struct {
	Balance       int64 `json:"balance"` // what the user can spend now, as wallet.balance has it; below zero: a debt
	Packs         int64 `json:"one_time"`
	Subscriptions int64 `json:"subscription"`
	Gone          int64 `json:"gone"` // credits that were spent and then taken back, or that no grant of the tables gave
	Paid          int64 `json:"paid"` // what other grants have paid of Gone
}

// Grant is what is left of one grant. If the live tables do not have the grant, because a rebuild with other rules or
// another catalogue made none, the pointers are nil, and what was spent of it is owed.
type Grant struct {
	PaymentID   string     `db:"provider_payment_id"`
	Part        int64      `db:"part"` // the number of the payment's month
	Kind        *string    `db:"kind"`
	EventID     *string    `db:"event_id"`
	AvailableAt *time.Time `db:"available_at"`
	ExpiresAt   *time.Time `db:"expires_at"`
	Granted     *int64     `db:"granted"`
	Reversed    *int64     `db:"reversed"`
	Spent       int64      `db:"spent"`
	Held        int64      `db:"held"`
	Owes        int64      `db:"owes"` // spent of it, and then taken back
	Pays        int64      `db:"pays"` // what it has paid of debts
	Usable      int64      `db:"usable"`
}

// Spend is one call of wallet.spend, or of wallet.hold if HeldUntil is not nil.
type Spend struct {
	Key       string     `db:"key"`
	At        time.Time  `db:"created_at"`
	State     string     `db:"state"` // refused, held, spent or released
	Amount    int64      `db:"amount"`
	HeldUntil *time.Time `db:"held_until"`
	Confirmed *int64     `db:"confirmed"` // of a confirmed hold
	Note      *string    `db:"note"`
	GivenBack int64      `db:"given_back"`
	Grants    []Taken    `db:"grants"` // in the order in which they were spent; none if nothing is spent or held
}

// Taken is what a spend took of one grant.
type Taken struct {
	PaymentID string `json:"provider_payment_id"`
	Part      int64  `json:"part"`
	Credits   int64  `json:"credits"`
	GivenBack int64  `json:"given_back"`
}

// String implements fmt.Stringer.
func (t Taken) String() string {
	return fmt.Sprintf("%s/%d: %d", page.Name(t.PaymentID), t.Part, t.Credits)
}

func (w Wallet) empty() bool { return w.Grants.Empty() && w.Spends.Empty() }

// Owed is what the user owes.
func (s WalletSums) Owed() int64 { return s.Gone - s.Paid }

//go:embed wallet_grants.sql
var walletGrants string

//go:embed wallet_spends.sql
var walletSpends string

// readWallet reads the wallet of a user, without grants if those are too many to be added up.
func readWallet(ctx context.Context, tx pgx.Tx, user string, limit int, tooMany bool) (*Wallet, error) {
	var out Wallet
	var err error
	out.Spends.Items, err = store.Collect(ctx, tx, "read the spends", pgx.RowToStructByName[Spend], walletSpends, user, limit)
	if err != nil {
		return nil, err
	}
	if out.Spends.Earlier, err = earlierSpends(ctx, tx, user, len(out.Spends.Items)); err != nil || tooMany {
		return &out, err
	}
	all, err := grantsOf(ctx, tx, user)
	if err != nil {
		return nil, err
	}
	out.Sums = addUpGrants(all)
	out.Grants = newestGrants(all, limit)
	return &out, nil
}

func earlierSpends(ctx context.Context, tx pgx.Tx, user string, shown int) (earlier int64, err error) {
	if err = tx.QueryRow(ctx, "select count(*) from wallet.spend where user_id = $1", user).Scan(&earlier); err != nil {
		return 0, fmt.Errorf("count the spends: %w", err)
	}
	return earlier - int64(shown), nil
}

func grantsOf(ctx context.Context, tx pgx.Tx, user string) ([]Grant, error) {
	return store.Collect(ctx, tx, "read the grants", pgx.RowToStructByName[Grant], walletGrants, user)
}

func addUpGrants(grants []Grant) *WalletSums {
	var sums WalletSums
	for _, g := range grants {
		sums.Gone, sums.Paid = sums.Gone+g.Owes, sums.Paid+g.Pays
		if g.Kind != nil && *g.Kind == projections.KindSubscription {
			sums.Subscriptions += g.Usable
		} else {
			sums.Packs += g.Usable
		}
	}
	sums.Balance = sums.Packs + sums.Subscriptions - sums.Owed()
	return &sums
}

// newestGrants leaves out the grants that became available first, if there are more than limit. Those that the tables
// do not have stay.
func newestGrants(all []Grant, limit int) Part[Grant] {
	if len(all) <= limit {
		return Part[Grant]{Items: all}
	}
	available := func(g Grant) time.Time {
		if g.AvailableAt == nil {
			return time.Unix(1<<40, 0)
		}
		return *g.AvailableAt
	}
	byTime := slices.Clone(all)
	slices.SortStableFunc(byTime, func(a, b Grant) int { return available(b).Compare(available(a)) })
	type id struct {
		payment string
		part    int64
	}
	kept := map[id]bool{}
	for _, g := range byTime[:limit] {
		kept[id{g.PaymentID, g.Part}] = true
	}
	shown := slices.DeleteFunc(slices.Clone(all), func(g Grant) bool { return !kept[id{g.PaymentID, g.Part}] })
	return Part[Grant]{Items: shown, Earlier: int64(len(all) - len(shown))}
}

// grantsOfPayment reads what is left of each grant of a payment, the newest ones, at most limit. It reads none if the
// schema is not live, nobody has claimed the payment, or its user's ledger has too many lines.
func grantsOfPayment(
	ctx context.Context, tx pgx.Tx, schema string, p projections.Payment, limit int,
) (out Part[Grant], err error) {
	if schema != store.LiveSchema || p.UserID == "" {
		return out, nil
	}
	var lines int
	err = tx.QueryRow(ctx, "select count(*) from (select from credit_ledger where user_id = $1 limit $2) line",
		p.UserID, limit*readsPerItem+1).Scan(&lines)
	if err != nil || lines > limit*readsPerItem {
		return out, err
	}
	all, err := grantsOf(ctx, tx, p.UserID)
	if err != nil {
		return out, err
	}
	names := PaymentNames(p)
	all = slices.DeleteFunc(all, func(g Grant) bool { return !slices.Contains(names, g.PaymentID) })
	slices.SortFunc(all, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(a.PaymentID, b.PaymentID), cmp.Compare(a.Part, b.Part))
	})
	return newestGrants(all, limit), nil
}
