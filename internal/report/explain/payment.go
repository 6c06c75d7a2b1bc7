package explain

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

// Payment is a payment with its facts: what each of its events says of it, which is why it is what it is.
type Payment struct {
	projections.Payment
	Facts projections.Facts `json:"facts"`
}

// OfPayment is a payment with what belongs to it. Its lists have the newest items, in the order of the log.
type OfPayment struct {
	Payment   *Payment                   `json:"payment"` // nil if only events without effect name it
	Ledger    Lines                      `json:"credit_ledger"`
	Grants    Part[Grant]                `json:"grants"` // see grantsOfPayment
	Reversals Part[projections.Reversal] `json:"reversals"`
}

// ReadPayment reads the payment of that name, and returns the names under which events may have it. Lists have at most
// limit items.
func ReadPayment(ctx context.Context, tx pgx.Tx, schema, name string, limit int) (out OfPayment, names []string, err error) {
	if out.Payment, err = paymentNamed(ctx, tx, name); err != nil {
		return out, nil, err
	}
	names = []string{name}
	if out.Payment != nil {
		names = append(names, PaymentNames(out.Payment.Payment)...)
	}
	out.Reversals, err = Newest(ctx, tx, tables.Reversals, "provider_payment_id = any($1)", "stream_seq desc", limit, names)
	if err != nil || out.Payment == nil {
		return out, names, err
	}
	p := out.Payment.Payment
	// Lines under the order were corrected to nothing when both names turned out to be one payment.
	if out.Ledger, err = newestLines(ctx, tx, "provider_payment_id = any($1)", limit, PaymentNames(p)); err != nil {
		return out, names, err
	}
	out.Grants, err = grantsOfPayment(ctx, tx, schema, p, limit)
	return out, names, err
}

// paymentNamed reads the payment that has this name: as its key, or else as its transaction or order. It
// returns nil if there is none.
func paymentNamed(ctx context.Context, tx pgx.Tx, name string) (*Payment, error) {
	found, err := tables.PaymentsNamed(ctx, tx, []string{name})
	if err != nil || len(found) == 0 {
		return nil, err
	}
	byKey := slices.IndexFunc(found, func(p projections.Payment) bool { return p.ProviderPaymentID == name })
	one := found[max(byKey, 0)]
	return &Payment{one, one.Facts}, nil
}

// PaymentNames lists the names that events, reversals and ledger lines may have for the payment. Some may be
// empty.
func PaymentNames(p projections.Payment) []string {
	return []string{p.ProviderPaymentID, p.TransactionID, p.OrderID}
}
