package browse

import (
	"context"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/tables"
)

// Ungranted are purchases of one product that were paid and have granted nothing, for one reason.
type Ungranted struct {
	Reason  string `json:"reason"` // of their newest rejected event
	Product string `json:"product_key"`
	Amounts
	Purchases []Purchase `json:"purchases"` // some, those of the most money first
	Catalogue string     `json:"catalogue_line,omitempty"`
}

// Purchase is one of them.
type Purchase struct {
	Payment  string `json:"provider_payment_id"`
	User     string `json:"user_id"` // whom the event of the payment names; may be empty
	Amount   *int64 `json:"amount"`
	Currency string `json:"currency"`
	Repair   string `json:"repair,omitempty"` // a command
}

const (
	maxPurchases = 5  // that a page shows of a group
	maxUngranted = 50 // groups of a page
)

//go:embed rejected_money.sql
var rejectedMoneySQL string

// readShownUngranted reads what a page shows.
func readShownUngranted(ctx context.Context, tx pgx.Tx, _ Moment, _ *time.Location) ([]Ungranted, error) {
	if _, err := tx.Exec(ctx, inOrderOfIndexes); err != nil {
		return nil, err
	}
	return readUngranted(ctx, tx, namedWindow, maxUngranted, maxPurchases)
}

// readUngranted groups the purchases of the newest rejected events, at most limit; by currency, the most money first. There
// are at most maxGroups, each with at most maxOfEach of its purchases.
func readUngranted(ctx context.Context, tx pgx.Tx, limit int64, maxGroups, maxOfEach int) (out []Ungranted, err error) {
	var keys [][]string
	rows, _ := tx.Query(ctx, rejectedMoneySQL, limit, maxOfEach, maxGroups) // ForEachRow returns its error
	var one Ungranted
	var shown []string
	targets := []any{&one.Reason, &one.Product, &one.Currency, &one.Count, &one.Sum, &one.Priced, &shown}
	_, err = pgx.ForEachRow(rows, targets, func() error {
		out, keys = append(out, one), append(keys, slices.Clone(shown))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the purchases that granted nothing: %w", err)
	}
	var all []string
	for _, of := range keys {
		all = append(all, of...)
	}
	payments, err := tables.Payments.Rows(ctx, tx, "where provider_payment_id = any($1)", all)
	if err != nil {
		return nil, err
	}
	byKey := map[string]*projections.Payment{}
	for i := range payments {
		byKey[payments[i].ProviderPaymentID] = &payments[i]
	}
	for i := range out {
		for _, key := range keys[i] {
			out[i].add(byKey[key])
		}
	}
	return out, nil
}

func (u *Ungranted) add(p *projections.Payment) {
	if p == nil { // never: both are of one moment
		return
	}
	shown := Purchase{Payment: p.ProviderPaymentID, User: p.UserID, Amount: p.Amount, Currency: p.Currency}
	if shown.User == "" {
		for i := range p.Facts {
			if p.Facts[i].User != "" {
				shown.User = p.Facts[i].User
				break
			}
		}
	}
	switch {
	case u.Reason == string(projections.UnknownProduct) && u.Product != "":
		u.Catalogue = catalogueLine(u.Product, p.SubscriptionID != "")
	case u.Reason == string(projections.PaymentConflict) || u.Reason == string(projections.Internal):
	default:
		shown.Repair = completeCommand(p, shown.User)
	}
	u.Purchases = append(u.Purchases, shown)
}

// completeCommand gives the purchase to its user.
func completeCommand(p *projections.Payment, user string) string {
	name, order := p.TransactionID, ""
	if name == "" {
		name, order = p.OrderID, " --order"
	}
	if name == "" {
		name, order = p.ProviderPaymentID, ""
	}
	out := "ingest complete " + page.Word(name) + order + " --user "
	if user == "" {
		out += "USER"
	} else {
		out += page.Word(user)
	}
	if p.ProductKey == "" {
		out += " --product PRODUCT --bought " + p.OccurredAt.Format(time.RFC3339)
	}
	return out + " --reason 'WHY'"
}

// catalogueLine is what the catalogue lacks. What the product grants is the shop's to say.
func catalogueLine(product string, subscription bool) string {
	kind := "one_time"
	if subscription {
		kind = "subscription"
	}
	return yamlKey(product) + ": {kind: " + kind + ", credits: NUMBER}"
}

var (
	plainKey = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)
	yamlWord = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|null|y|n)$`)
)

func yamlKey(text string) string {
	if plainKey.MatchString(text) && !yamlWord.MatchString(text) {
		return text
	}
	return fmt.Sprintf("%q", text)
}
