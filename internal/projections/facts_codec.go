package projections

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/codec"
)

// Append appends the facts as bytes. Equal facts give equal bytes.
func (f Facts) Append(out []byte) []byte {
	w := codec.Writer(out)
	for _, one := range f {
		one.code(&w)
	}
	return w.Out
}

// ReadFacts reads what Append wrote.
func ReadFacts(written string) (f Facts, err error) {
	for r := codec.Reader(written); !r.Done(); {
		one := &Fact{}
		one.code(&r)
		if err := r.Err(); err != nil {
			return nil, fmt.Errorf("read facts: %w", err)
		}
		f = append(f, one)
	}
	return f, nil
}

// String returns the facts as JSON.
func (f Facts) String() string {
	if len(f) == 0 {
		return "[]"
	}
	text, err := json.Marshal(f)
	if err != nil {
		return err.Error() // a time after the year 9999
	}
	return string(text)
}

// code visits the fields, always in the same order.
func (f *Fact) code(c *codec.Coder) {
	for _, t := range []*string{
		&f.EventID, (*string)(&f.Says), &f.Subscription, &f.Payment, &f.Checkout, &f.User, &f.Kind, &f.GitHubUser, &f.Product, &f.Currency, &f.Status,
	} {
		c.Text(t)
	}
	for _, n := range []*int64{&f.Seq, &f.Units} {
		c.Number(n)
	}
	c.Optional(&f.Credits)
	c.Optional(&f.Amount)
	for _, b := range []*bool{&f.Recurring, &f.ByBuyer, &f.ByOrder, &f.Trial, &f.AmountOfOrder, &f.Prorated, &f.Given, &f.Begins, &f.MayBeginTrial} {
		c.Flag(b)
	}
	for _, t := range []*time.Time{&f.At, &f.From, &f.Until, &f.CanceledAt, &f.Expires, &f.Extended} {
		c.Time(t)
	}
}
