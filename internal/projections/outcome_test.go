package projections

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	pack  = `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":200}`
	known = `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u2","credits":1}`
)

func TestARejectionNamesWhatIsMissingOrWrong(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct{ object, want string }{
		"nothing":                      {pack, "applied"},
		"U+0000":                       {`"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"a\u0000b","credits":200}`, "rejected invalid_text"},
		"a lone surrogate":             {`"provider_payment_id":"\ud800","metadata":{"kind":"one_time","user_id":"u1","credits":200}`, "rejected invalid_text"},
		"an over-long id":              {`"provider_payment_id":"` + long + `","metadata":{"kind":"one_time","user_id":"u1","credits":200}`, "rejected invalid_text"},
		"no kind":                      {`"provider_payment_id":"t1","metadata":{"user_id":"u1","credits":200}`, "rejected unknown_kind"},
		"an unknown kind":              {`"provider_payment_id":"t1","metadata":{"kind":"gift","user_id":"u1","credits":200}`, "rejected unknown_kind"},
		"a kind in other letters":      {`"provider_payment_id":"t1","metadata":{"kind":"Pro","user_id":"u1"}`, "rejected unknown_kind"},
		"no user":                      {`"provider_payment_id":"t1","metadata":{"kind":"one_time","credits":200}`, "rejected missing_user"},
		"an empty user":                {`"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":""}`, "rejected missing_user"},
		"no payment":                   {`"metadata":{"kind":"one_time","user_id":"u1","credits":200}`, "rejected missing_payment_id"},
		"no payment of a licence":      {`"metadata":{"kind":"pro","user_id":"u1"}`, "rejected missing_payment_id"},
		"no payment or subscription":   {`"metadata":{"kind":"subscription","user_id":"u1"}`, "rejected missing_payment_id"},
		"no credits in a pack":         {`"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1"}`, "rejected missing_credits"},
		"no credits in a subscription": {`"provider_payment_id":"t1","metadata":{"kind":"subscription","user_id":"u1"}`, "applied"},
		"no credits in a licence":      {`"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1"}`, "applied"},
		"a negative amount":            {`"amount":-1,` + pack, "applied"},
		"an amount that is no number":  {`"amount":"1.5",` + pack, "applied"},
		"more units than any number":   {`"units":1000000000001,` + pack, "rejected out_of_range"},
		"an amount of zero":            {`"amount":0,` + pack, "applied"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, checkout("e1", c.object))
			require.Equal(t, map[string]string{"e1": c.want}, outcomes(s))
			if c.want != "applied" {
				require.Empty(t, s.Ledger.Inserted(), "a rejected event grants nothing")
				for _, p := range s.Payments.Inserted() {
					require.Empty(t, p.UserID, "and claims nothing")
				}
			}
		})
	}
}

// What was paid does not matter for what was sold. So the purchase counts, and the event says what could not be read.
func TestAPurchaseCountsWithoutAnAmountThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, amount := range []string{`"12.10"`, `12.5`, `-1`, `"many"`} {
		s := fold(t, checkout("e1", `"amount":`+amount+`,`+pack), refund("r1", `"transaction":"t1"`))
		require.Equal(t, map[string]string{"e1": "applied", "r1": "applied"}, outcomes(s), amount)
		require.Equal(t, []string{"e1 gives u1 200 one_time for t1", "r1 gives u1 -200 one_time for t1"}, grants(s), amount)
		payment, _ := s.Payments.Get("t1")
		require.Nil(t, payment.Amount, amount)
		require.Equal(t, string(AmountUnreadable), recorded(t, s, "e1").Note, amount)
	}
	readable := fold(t, checkout("e1", `"amount":"1210",`+pack))
	require.Empty(t, recorded(t, readable, "e1").Note)
	rejected := fold(t, checkout("e1", `"amount":-1,"provider_payment_id":"t1","metadata":{"kind":"one_time","credits":200}`))
	require.Equal(t, map[string]string{"e1": "rejected missing_user"}, outcomes(rejected))
	require.Equal(t, string(AmountUnreadable), recorded(t, rejected, "e1").Note, "when its user is known, the payment counts without an amount")
	unusable := fold(t, checkout("e1", `"amount":-1,"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":0}`))
	require.Equal(t, map[string]string{"e1": "rejected out_of_range"}, outcomes(unusable))
	require.Empty(t, recorded(t, unusable, "e1").Note, "nothing of it counts")
	both := fold(t, checkout("e1", `"amount":-1,"units":"two",`+pack))
	require.Equal(t, string(BothUnreadable), recorded(t, both, "e1").Note)
}

// Each body has the fault of its own reason and of all the reasons after it.
func TestTheFirstOfSeveralReasonsIsRecorded(t *testing.T) {
	t.Parallel()
	live := Rules{Mode: ModeLive}
	for _, c := range []struct{ want, object string }{
		{"rejected invalid_text", `"mode":"test","metadata":{"kind":"gift","product_key":"\u0000"},"units":1000000000001`},
		{"rejected wrong_mode", `"mode":"test","metadata":{"kind":"gift"},"units":1000000000001`},
		{"rejected unknown_kind", `"mode":"live","metadata":{"kind":"gift"},"units":1000000000001`},
		{"rejected missing_user", `"mode":"live","metadata":{"kind":"one_time"},"units":1000000000001`},
		{"rejected missing_payment_id", `"mode":"live","metadata":{"kind":"one_time","user_id":"u1"},"units":1000000000001`},
		{"rejected missing_credits", `"mode":"live","provider_payment_id":"t2","metadata":{"kind":"one_time","user_id":"u1"},"units":1000000000001`},
		{"rejected out_of_range", `"mode":"live","provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1"},"units":1000000000001`},
		{"rejected payment_conflict", `"mode":"live","provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u1"}`},
	} {
		s := foldInto(t, NewState(), live, checkout("e0", `"mode":"live",`+known), checkout("e1", c.object))
		require.Equal(t, map[string]string{"e0": "applied", "e1": c.want}, outcomes(s))
	}
}

func TestATypeWithoutEffectIsIgnoredEvenWithFaults(t *testing.T) {
	t.Parallel()
	for _, eventType := range []string{"customer.created", "checkout.expired", "Checkout.Completed", "subscription.renewed"} {
		s := foldInto(t, NewState(), Rules{Mode: ModeLive},
			ofType(eventType, "e1", `"mode":"test","metadata":{"kind":"gift","user_id":"\u0000"},"amount":-1`))
		require.Equal(t, map[string]string{"e1": "ignored"}, outcomes(s))
		require.Len(t, tables(s), 1)
	}
}

func TestAMessageWithoutAnEventIsRecorded(t *testing.T) {
	t.Parallel()
	requireTables(t, `processed_event event_id=raw stream_seq=1 outcome=rejected reason=invalid_text `+
		`occurred_at=12-01T00:00:00Z received_at=12-01T00:00:00Z`, fold(t, "garbage"))
}

func TestAQuarantinedEventIsRecordedWithoutItsFields(t *testing.T) {
	t.Parallel()
	s := NewState()
	s.Quarantined[1] = true
	requireTables(t, `processed_event event_id=e1 stream_seq=1 outcome=rejected reason=internal `+
		`occurred_at=12-01T00:00:00Z received_at=12-01T00:00:00Z`, foldInto(t, s, anyMode, checkout("e1", pack)))
}

// The first claim decides the user and the kind of a payment.
func TestAPaymentOfAnotherUserOrKindIsAConflict(t *testing.T) {
	t.Parallel()
	for name, object := range map[string]string{
		"another user":           `"provider_payment_id":"t1","metadata":{"kind":"one_time","user_id":"u2","credits":200}`,
		"another kind":           `"provider_payment_id":"t1","metadata":{"kind":"pro","user_id":"u1"}`,
		"another user, by order": `"order":"o1","metadata":{"kind":"one_time","user_id":"u2","credits":200}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := fold(t, checkout("e1", `"order":"o1",`+pack), checkout("e2", object))
			require.Equal(t, map[string]string{"e1": "applied", "e2": "rejected payment_conflict"}, outcomes(s))
			require.Equal(t, tables(fold(t, checkout("e1", `"order":"o1",`+pack)))[1:], tables(s)[2:])
		})
	}
}
