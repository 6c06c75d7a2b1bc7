package explain

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

const (
	// readsPerItem bounds the events, and the ledger lines, that a page reads for each item that a
	// list may have: each can lie in another page of Postgres. If there are more, numbers are lower
	// bounds, and the lines are not added up.
	readsPerItem = 20
	// maxOthers bounds the subscriptions that a page reads, and the events that are not the user's own.
	maxOthers = 200
)

// userPage reads one page of the history of a user: the newest events before a place. With them it
// reads the payments that have no newer event of the user, the other events of these payments, and the
// ledger lines from the first of these events on.
type userPage struct {
	user          *User
	tx            pgx.Tx
	before        int64
	limit         int
	subscriptions []string // ids of those whose events the page may show
	own           []int64  // sequences of the user's events that the page shows
}

func (u *User) readPage(ctx context.Context, tx pgx.Tx, schema string, place Place, limit int) error {
	p := userPage{user: u, tx: tx, limit: limit}
	if err := p.findSubscriptions(ctx); err != nil {
		return err
	}
	if err := p.goTo(ctx, place, schema); err != nil {
		return err
	}
	first, err := p.findOwn(ctx)
	if err != nil {
		return err
	}
	ledgers, complete, err := p.addUp(ctx)
	if err != nil {
		return err
	}
	if complete {
		for _, l := range ledgers {
			first = max(first, l.first(limit))
		}
		p.dropBefore(first)
	}
	if err := p.readEvents(ctx); err != nil {
		return err
	}
	if complete {
		err = p.readLines(ctx, ledgers, first)
	} else {
		err = p.readSomeLines(ctx)
	}
	if u.Events.Earlier > 0 || u.Packs.Earlier > 0 || u.Grants.Earlier > 0 {
		u.Next = &first
	}
	return err
}

// findSubscriptions finds the subscriptions whose events the page may show.
func (p *userPage) findSubscriptions(ctx context.Context) (err error) {
	p.subscriptions, err = store.Collect(ctx, p.tx, "find the subscriptions", pgx.RowTo[string],
		"select subscription_id from subscription_facts where user_id = $1 order by stream_seq desc, subscription_id limit $2", p.user.ID, maxOthers+1)
	if err != nil {
		return err
	}
	if len(p.subscriptions) > maxOthers {
		p.subscriptions, p.user.Events.More = p.subscriptions[:maxOthers], true
	}
	return nil
}

//go:embed user_events.sql
var userEvents string

// findOwn finds the user's events for the page. It returns the sequence from which on the page shows
// everything.
func (p *userPage) findOwn(ctx context.Context) (first int64, err error) {
	counted := p.limit * readsPerItem
	found, err := store.Collect(ctx, p.tx, "find the events", pgx.RowTo[int64], userEvents, p.user.ID, p.before, counted+1, p.subscriptions)
	if err != nil {
		return 0, err
	}
	p.user.Events.More = p.user.Events.More || len(found) > counted
	p.own = found[:min(p.limit, len(found))]
	if p.user.Events.Earlier = int64(min(len(found), counted) - len(p.own)); p.user.Events.Earlier > 0 {
		first = p.own[len(p.own)-1]
	}
	if p.before == math.MaxInt64 && !p.user.Events.More {
		err = p.readTotals(ctx, found)
	}
	return first, err
}

// dropBefore leaves the events before a sequence to the next page.
func (p *userPage) dropBefore(first int64) {
	kept := sort.Search(len(p.own), func(i int) bool { return p.own[i] < first })
	p.user.Events.Earlier += int64(len(p.own) - kept)
	p.own = p.own[:kept]
}

//go:embed user_payments.sql
var userPayments string

//go:embed user_other_events.sql
var userOtherEvents string

func (p *userPage) readEvents(ctx context.Context) error {
	payments, err := tables.Payments.Rows(ctx, p.tx, userPayments, p.user.ID, p.own, p.before, p.subscriptions)
	if err != nil {
		return err
	}
	p.user.Payments = Part[projections.Payment]{Items: payments, More: p.user.Events.Earlier > 0}
	names := make([]string, len(payments))
	for i, payment := range payments {
		names[i] = payment.ProviderPaymentID
	}
	others, err := store.Collect(ctx, p.tx, "find other events of the payments", pgx.RowTo[int64],
		userOtherEvents, p.user.ID, names, p.subscriptions, maxOthers+1)
	if err != nil {
		return err
	}
	if len(others) > maxOthers {
		others, p.user.Events.More = others[:maxOthers], true
	}
	list, err := tables.ProcessedEvents.Rows(ctx, p.tx, "where stream_seq = any($1) order by stream_seq", append(others, p.own...))
	if err != nil {
		return err
	}
	p.user.Events.Items, err = Explained(ctx, p.tx, list)
	return err
}

// userLedger is about a user's ledger lines of one kind.
type userLedger struct {
	all       int64 // number of all lines
	before    int64 // number of those before the end of the page; what follows is of these
	sum       int64
	newest    []int64
	events    []string // those of newest
	spendable Spendable
}

// first returns the sequence from which on a page shows all lines.
func (l *userLedger) first(limit int) int64 {
	if l.before <= int64(limit) {
		return 0
	}
	return l.newest[limit-1]
}

//go:embed user_ledger.sql
var userLedgerSQL string

// addUp adds up the user's ledger by kind. It is not complete if the user has too many lines.
func (p *userPage) addUp(ctx context.Context) (out map[string]*userLedger, complete bool, err error) {
	out = map[string]*userLedger{projections.KindOneTime: {}, projections.KindSubscription: {}}
	maxLines := int64(p.limit) * readsPerItem
	rows, _ := p.tx.Query(ctx, userLedgerSQL, p.user.ID, p.before, p.limit, maxLines+1, p.user.decides()) // ForEachRow returns its error
	var kind string
	var l userLedger
	lines := int64(0)
	_, err = pgx.ForEachRow(rows, []any{&kind, &l.all, &l.before, &l.sum, &l.newest, &l.events, &l.spendable.Now, &l.spendable.Later, &l.spendable.Expired}, func() error {
		found := l
		out[kind], lines, l = &found, lines+l.all, userLedger{}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("add up the ledger: %w", err)
	}
	return out, lines <= maxLines, nil
}

// readLines reads the lines from the sequence first on.
func (p *userPage) readLines(ctx context.Context, ledgers map[string]*userLedger, first int64) (err error) {
	packs, grants := ledgers[projections.KindOneTime], ledgers[projections.KindSubscription]
	if p.user.Packs, err = p.linesOf(ctx, projections.KindOneTime, packs, first); err != nil {
		return err
	}
	p.user.Grants, err = p.linesOf(ctx, projections.KindSubscription, grants, first)
	p.user.SubscriptionCredits = &grants.spendable
	return err
}

func (p *userPage) linesOf(ctx context.Context, kind string, l *userLedger, first int64) (out Lines, err error) {
	lines, err := p.linesOfEvents(ctx, l.events)
	for _, line := range lines {
		if line.Kind == kind && line.StreamSeq >= first && line.StreamSeq < p.before {
			out.Items = append(out.Items, line)
		}
	}
	out.Earlier = l.before - int64(len(out.Items))
	out.Sum, out.EarlierSum = l.sum, l.sum-sumOf(out.Items)
	return out, err
}

// linesOfEvents reads the user's ledger lines of some events. A condition with the user would make
// Postgres read all lines of the user.
func (p *userPage) linesOfEvents(ctx context.Context, events []string) ([]projections.LedgerLine, error) {
	lines, err := tables.LedgerLines.Rows(ctx, p.tx, "where event_id = any($1) order by stream_seq, event_id, provider_payment_id, line", events)
	return slices.DeleteFunc(lines, func(line projections.LedgerLine) bool { return line.UserID != p.user.ID }), err
}

// readSomeLines reads only the lines of the page's events. It is for users with too many lines.
func (p *userPage) readSomeLines(ctx context.Context) error {
	var events []string
	for _, e := range p.user.Events.Items {
		events = append(events, e.EventID)
	}
	lines, err := p.linesOfEvents(ctx, events)
	if err != nil {
		return err
	}
	p.user.Packs.More, p.user.Grants.More = p.user.Events.Earlier > 0, p.user.Events.Earlier > 0
	p.user.Packs.NotSummed, p.user.Grants.NotSummed = true, true
	for _, line := range lines {
		of := &p.user.Grants
		if line.Kind == projections.KindOneTime {
			of = &p.user.Packs
		}
		of.Items = append(of.Items, line)
	}
	return nil
}

// Total adds up a user's payments of one currency. Its sums can have more digits than 64 bits hold.
type Total struct {
	Currency string      `db:"currency" json:"currency"`
	Paid     json.Number `db:"paid" json:"paid"`
	Refunded json.Number `db:"refunded" json:"refunded"`
}

// AnyRefunded reports whether something was refunded.
func (t Total) AnyRefunded() bool { return t.Refunded != "0" }

//go:embed user_totals.sql
var userTotals string

// readTotals adds up the payments that the user's events name.
func (p *userPage) readTotals(ctx context.Context, events []int64) (err error) {
	p.user.Totals, err = store.Collect(ctx, p.tx, "add up the payments", pgx.RowToStructByName[Total], userTotals, p.user.ID, events)
	return err
}

func (u User) totalsText(p *page.Page) {
	for _, t := range u.Totals {
		p.Line("Paid %s, refunded %s.", page.MoneyOf(string(t.Paid), t.Currency), page.MoneyOf(string(t.Refunded), t.Currency))
	}
}
