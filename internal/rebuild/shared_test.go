package rebuild

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/fixture"
)

// body is an event of a customer; fields are those of its object.
func body(id, eventType, customer, fields string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":%q,"object":{"customer":%q,%s}}`, id, eventType, customer, fields)
}

func paid(id, customer, payment, user string) string {
	return body(id, "checkout.completed", customer, fmt.Sprintf(`"provider_payment_id":%q,"metadata":{"kind":"one_time","user_id":%q,"credits":10}`, payment, user))
}

// Customers are folded apart. What they share must still be folded in the order of the log.
func TestCustomersThatShareNamesAreFoldedTogether(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	chain := func(links int) (bodies []string) { // of transactions, orders and users; the last link is first in the log
		for i := links; i > 0; i-- {
			bodies = append(bodies,
				body(fmt.Sprint("a", i), "checkout.completed", fmt.Sprint("c", i), fmt.Sprintf(`"provider_payment_id":"t%d","order":"o%d","metadata":{"kind":"pro","user_id":"u%d"}`, i, i, i)),
				body(fmt.Sprint("b", i), "subscription.paid", fmt.Sprint("d", i), fmt.Sprintf(`"subscription":"s%d","order":"o%d","metadata":{"kind":"pro","user_id":"u%d"}`, i, i-1, i)),
				body(fmt.Sprint("r", i), "refund.created", fmt.Sprint("r", i), fmt.Sprintf(`"transaction":{"id":"t%d","amount_paid":5},"refund_amount":5`, i)))
		}
		return bodies
	}
	everything := func(customers int) (bodies []string) {
		for i := range customers * 5 {
			bodies = append(bodies, body(fmt.Sprint("e", i), "subscription.paid", fmt.Sprint("c", i%customers),
				fmt.Sprintf(`"subscription":"s%d","provider_payment_id":"t%d","order":"o%d","metadata":{"user_id":"u%d","credits":3}`, i%3, i%7, i%11, i%2)))
		}
		return bodies
	}
	for name, bodies := range map[string][]string{
		"one user of two customers":         {paid("e1", "c1", "t1", "u"), paid("e2", "c2", "t2", "u"), paid("e3", "c1", "t3", "u")},
		"one subscription of two customers": {body("e1", "subscription.active", "c1", `"subscription":"s"`), body("e2", "subscription.paid", "c2", `"subscription":"s","provider_payment_id":"t","metadata":{"user_id":"u","credits":5}`), body("e3", "subscription.canceled", "c1", `"subscription":"s"`)},
		"one event id with two bodies":      {paid("e", "c1", "t1", "u1"), paid("e", "c2", "t2", "u2"), paid("e", "c3", "t3", "u3"), paid("e4", "c2", "t4", "u2")},
		"one payment of two customers":      {paid("e1", "c1", "t", "u1"), paid("e2", "c2", "t", "u2"), body("e3", "refund.created", "c3", `"transaction":{"id":"t","amount_paid":4},"refund_amount":1`)},
		"an implicit subscription by name": {
			body("e1", "checkout.completed", "c1", `"provider_payment_id":"t1","metadata":{"kind":"subscription","user_id":"u1","credits":5}`),
			body("e2", "subscription.active", "c2", `"subscription":"implicit:u1"`),
		},
		"a chain":                               chain(3),
		"a long chain":                          chain(60),
		"everything is connected":               everything(20),
		"one customer has most of the events":   append(everything(1), everything(9)...),
		"nothing is shared, and nothing beside": {paid("e1", "c1", "t1", "u1")},
	} {
		t.Run(name, func(t *testing.T) {
			_, whole := fixture.OneFold(t, fixture.AnyMode, bodies)
			for _, limits := range []struct {
				memory int
				bucket uint64
			}{{0, 1}, {1, 1}, {3_000, 10}} {
				fixture.Reset(ctx, t, s, fixture.AnyMode)
				rebuild := newRebuild(t, s, fixture.AnyMode, fixture.TapeOf(bodies...))
				rebuild.Scratch, rebuild.memory, rebuild.bucket = true, limits.memory, limits.bucket
				require.NoError(t, rebuild.Run(ctx, uint64(len(bodies))))
				fixture.RequireTablesOf(ctx, t, s, whole)
				fixture.RequireSound(ctx, t, s, len(bodies))
			}
		})
	}
}

// Not parallel: the folder is the process's. A file that is open has no name, so nothing can be left of it.
func TestNoTemporaryFileIsLeft(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	s := newSpool(3, 1)
	for i := range 100 {
		require.NoError(t, s.add(i%3, []byte(fmt.Sprint(i))))
	}
	s.seal()
	require.Positive(t, s.written)
	files, err := os.ReadDir(folder)
	require.NoError(t, err)
	require.Empty(t, files)
	records, err := s.read(1)
	require.NoError(t, err)
	require.Len(t, records, 33)
	s.close()
}
