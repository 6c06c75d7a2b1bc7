package projections

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
)

const catalogueText = `
version: 3
products:
  pack_200: {kind: one_time, credits: 200}
  pro_yearly: {kind: subscription, credits: 100, drip: monthly, months: 12, valid_months: 2}
  pro_monthly: [{kind: subscription, credits: 100}, {from: 2026-03-01, kind: subscription, credits: 120}]
  plain: {kind: subscription}
  tool: {kind: pro}
`

func catalogueRules(t *testing.T) Rules {
	t.Helper()
	c, err := catalogue.Parse([]byte(catalogueText))
	require.NoError(t, err)
	return Rules{Mode: ModeAny, Catalogue: c}
}

func bought(id, product, more string) string {
	return checkout(id, `"provider_payment_id":"t_`+id+`","amount":1200,"metadata":{"user_id":"u1","key":"`+product+`"`+more+`}`)
}

func TestOnlyTheCatalogueDecidesCredits(t *testing.T) {
	t.Parallel()
	s := foldInto(t, NewState(), catalogueRules(t),
		bought("e1", "pack_200", `,"kind":"one_time","credits":999999`),
		bought("e2", "pack_200", ``),
		bought("e3", "pack_200", `,"kind":"pro"`),
		bought("e4", "nothing", `,"kind":"one_time","credits":5`),
		bought("e5", "plain", `,"kind":"subscription","credits":5`),
		bought("e6", "tool", `,"kind":"pro"`),
		checkout("e7", `"provider_payment_id":"t_e7","units":3,"metadata":{"user_id":"u1","kind":"one_time","key":"pack_200"}`))
	require.Equal(t, map[string]string{
		"e1": "applied", "e2": "applied", "e3": "rejected kind_mismatch", "e4": "rejected unknown_product",
		"e5": "applied", "e6": "applied", "e7": "applied",
	}, outcomes(s))
	require.Equal(t, int64(1000), balanceOf(t, s, "u1"))
	require.Equal(t, []string{
		"e1 gives u1 200 one_time for t_e1", "e2 gives u1 200 one_time for t_e2", "e7 gives u1 600 one_time for t_e7",
	}, grants(s))
}

func TestAPriceChangeDoesNotChangeEarlierPayments(t *testing.T) {
	t.Parallel()
	of := func(id, day string) string {
		return strings.Replace(bought(id, "pro_monthly", ``), `{"id"`, `{"created_at":"`+day+`","id"`, 1)
	}
	s := foldInto(t, NewState(), catalogueRules(t), of("after", "2026-03-01T00:00:00Z"), of("before", "2026-02-28T23:59:59.999999Z"))
	require.ElementsMatch(t, []string{
		"after gives u1 120 subscription for t_after", "before gives u1 100 subscription for t_before",
	}, grants(s))
}

// An event of the shop that completes a purchase has the time of the purchase, whenever it is sent.
func TestAPurchaseThatIsCompletedLaterGrantsTheOfferOfItsTime(t *testing.T) {
	t.Parallel()
	sold := catalogueOf("version: 1\nproducts:\n  pack: [{kind: one_time, credits: 100}, {from: 2026-03-01, kind: one_time, credits: 120}]")
	for _, product := range []string{"", `"product":"pack",`} {
		purchase := `{"id":"e1","eventType":"checkout.completed","created_at":"2026-01-15T10:00:00Z","object":{` + product +
			`"order":{"id":"o1","transaction":"t1"}}}`
		completes := own("e2", "payment", `"user":"u1","payment":"t1","product":"pack","time":"2026-01-15T10:00:00Z"`)
		s := by(t, Rules{Mode: ModeAny, Catalogue: sold}, specified(purchase), completes)
		require.EqualValues(t, 100, balanceOf(t, s, "u1"), product)
	}
}

func TestADripWritesOneLineAMonth(t *testing.T) {
	t.Parallel()
	body := strings.Replace(bought("e1", "pro_yearly", ``), `{"id"`, `{"created_at":"2026-01-31T08:30:00Z","id"`, 1)
	s := foldInto(t, NewState(), catalogueRules(t), body)
	lines := s.Ledger.Inserted()
	require.Len(t, lines, 12)
	var days []string
	for i, line := range lines {
		require.EqualValues(t, i+1, line.Line)
		require.EqualValues(t, 100, line.Delta)
		days = append(days, line.AvailableAt.Format("2006-01-02"))
	}
	require.Equal(t, "2026-01-31 2026-02-28 2026-03-31 2026-04-30 2026-05-31 2026-06-30 2026-07-31 2026-08-31 2026-09-30 2026-10-31 2026-11-30 2026-12-31",
		strings.Join(days, " "), "clamped to the month's end")
	require.Equal(t, time.Date(2026, 4, 30, 8, 30, 0, 0, time.UTC), lines[1].ExpiresAt, "when the month after the next begins")
	payment, _ := s.Payments.Get("t_e1")
	require.EqualValues(t, 1200, *payment.Credits)

	s = foldInto(t, s, catalogueRules(t), refund("r1", `"transaction":{"id":"t_e1","amount_paid":1200,"refunded_amount":250}`))
	var reversed []string
	for _, line := range s.Ledger.Inserted()[12:] {
		reversed = append(reversed, line.AvailableAt.Format("2006-01-02"))
		require.Equal(t, "r1", line.EventID)
		require.Equal(t, lines[*line.ReversesLine-1].ExpiresAt, line.ExpiresAt)
	}
	require.Equal(t, []string{"2026-12-31", "2026-11-30", "2026-10-31"}, reversed, "the latest available first")
	require.EqualValues(t, -50, s.Ledger.Inserted()[14].Delta)
	require.EqualValues(t, 15, s.Ledger.Inserted()[14].Line, "of the payment")
}

func TestTheFoldIDDependsOnTheCatalogue(t *testing.T) {
	t.Parallel()
	other, err := catalogue.Parse([]byte(strings.Replace(catalogueText, "credits: 200", "credits: 201", 1)))
	require.NoError(t, err)
	require.NotEqual(t, catalogueRules(t).FoldID(), Rules{Mode: ModeAny, Catalogue: other}.FoldID())
	require.NotEqual(t, catalogueRules(t).FoldID(), anyMode.FoldID())
	require.Equal(t, catalogueRules(t).FoldID(), catalogueRules(t).FoldID())
}

// A buyer can write the key into the metadata. Only the provider knows what was sold.
func TestTheProvidersProductHasPriorityOverTheKeyInMetadata(t *testing.T) {
	t.Parallel()
	catalogue, err := catalogue.Parse([]byte("version: 1\nproducts:\n  prod_small: {kind: one_time, credits: 10}\n  prod_big: {kind: one_time, credits: 1000}"))
	require.NoError(t, err)
	buy := func(product string) *State {
		return foldInto(t, NewState(), Rules{Mode: ModeAny, Catalogue: catalogue},
			checkout("e1", `"order":{"id":"o1","transaction":"t1"},"product":{"id":"`+product+`"},"metadata":{"user_id":"u1","key":"prod_big"}`))
	}
	require.EqualValues(t, 10, balanceOf(t, buy("prod_small"), "u1"))
	unsold := buy("prod_that_the_catalogue_does_not_have")
	require.Equal(t, map[string]string{"e1": "rejected unknown_product"}, outcomes(unsold))
	require.Zero(t, balanceOf(t, unsold, "u1"), "the key that the buyer wrote does not replace it")
}

// The provider named the product of a payment in one event. Another event has only a key that
// the buyer wrote. It adds nothing.
func TestTheProvidersProductCountsInAnyEventOfThePayment(t *testing.T) {
	t.Parallel()
	catalogue, err := catalogue.Parse([]byte("version: 1\nproducts:\n  small: {kind: subscription, credits: 10}\n  big: {kind: subscription, credits: 1000}\n  none: {kind: subscription}"))
	require.NoError(t, err)
	const buyer = `,"metadata":{"user_id":"u1","key":"big"}`
	for name, logs := range map[string][]string{
		"of the payment":      {checkout("e1", `"order":{"id":"o1","transaction":"t1","product":"PRODUCT"}`+buyer), checkout("e2", `"order":{"id":"o1","transaction":"t1"}`+buyer)},
		"of its order":        {checkout("e1", `"order":{"id":"o1","product":"PRODUCT"}`+buyer), checkout("e2", `"order":{"id":"o1","transaction":"t1"}`+buyer)},
		"of its subscription": {checkout("e1", `"order":{"id":"o1","product":"PRODUCT"},"subscription":"s1"`+buyer), checkout("e2", `"order":{"id":"o1"},"subscription":"s1"`+buyer), paid("e3", `"id":"s1","last_transaction_id":"t1"`+buyer)},
	} {
		for product, credits := range map[string]int64{"small": 10, "none": 0} {
			for _, log := range permutations(logs) {
				for i := range log {
					log[i] = strings.Replace(log[i], "PRODUCT", product, 1)
				}
				s := foldInto(t, NewState(), Rules{Mode: ModeAny, Catalogue: catalogue}, log...)
				require.Equal(t, credits, leftOf(s)["u1 subscription"], "%s %s", name, product)
				shown, _ := s.Current.Get("u1")
				require.Equal(t, "active", shown.Status)
				p := s.paymentNamed("t1", s.byTransaction)
				require.Equal(t, product, p.ProductKey, name)
			}
		}
	}
}

// The checkout that started the subscription sold another plan than the renewal.
func TestARenewalGrantsTheCreditsOfItsOwnProduct(t *testing.T) {
	t.Parallel()
	catalogue, err := catalogue.Parse([]byte("version: 1\nproducts:\n  plan_a: {kind: subscription, credits: 100}\n  plan_b: {kind: subscription}"))
	require.NoError(t, err)
	started := checkout("e1", `"order":{"id":"o1"},"product":"plan_a","subscription":"s1","metadata":{"user_id":"u1"}`)
	for product, credits := range map[string]int64{"plan_a": 100, "plan_b": 0} {
		for _, log := range permutations([]string{started, paid("e2", `"id":"s1","product":"`+product+`","last_transaction_id":"t1"`)}) {
			s := foldInto(t, NewState(), Rules{Mode: ModeAny, Catalogue: catalogue}, log...)
			require.Equal(t, credits, leftOf(s)["u1 subscription"], product)
		}
	}
}

// Events of one payment, or of its subscription, name products of different kinds. Kind, product and credits are those
// of one of them, in any order of arrival.
func TestAnOfferCountsAsAWhole(t *testing.T) {
	t.Parallel()
	renewal := paid("e1", `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1","key":"pack_200","github":"ada"}`)
	again := func(product string) string {
		return checkout("e2", `"provider_payment_id":"t1","product":"`+product+`","metadata":{"user_id":"u1"}`)
	}
	starting := func(id, more string) string {
		return checkout(id, `"subscription":"s1","order":"o_`+id+`",`+more)
	}
	for name, c := range map[string]struct {
		log  []string
		want string // kind, product, credits of t1
	}{
		"what the provider names goes before what the metadata names": {[]string{renewal, again("tool")}, "pro tool 0"},
		"also without credits":                      {[]string{renewal, again("plain")}, "subscription plain 0"},
		"of two of one rank, more credits":          {[]string{renewal, again("plain"), strings.Replace(again("pro_monthly"), "e2", "e3", 1)}, "subscription pro_monthly 120"},
		"a licence of the subscription":             {[]string{renewal, starting("e2", `"product":"tool"`)}, "pro tool 0"},
		"a plan of the subscription":                {[]string{renewal, starting("e2", `"product":"pro_monthly"`)}, "subscription pro_monthly 120"},
		"two products of the subscription":          {[]string{paid("e1", `"id":"s1","last_transaction_id":"t1"`), starting("e2", `"metadata":{"user_id":"u1","key":"pro_monthly"}`), starting("e3", `"product":"pack_200"`)}, "one_time pack_200 200"},
		"the payment's own before the subscription": {[]string{strings.Replace(renewal, `"metadata"`, `"product":"pack_200","metadata"`, 1), starting("e2", `"product":"pro_monthly"`)}, "one_time pack_200 200"},
		"a kind of metadata is no conflict":         {[]string{again("plain"), paid("e1", `"id":"s1","last_transaction_id":"t1","metadata":{"user_id":"u1","kind":"pro"}`)}, "subscription plain 0"},
	} {
		inEveryOrder(t, catalogueRules(t), c.log, func(s *State, order []int) {
			p, _ := s.Payments.Get("t1")
			require.Equal(t, c.want, fmt.Sprintf("%s %s %d", p.Kind, p.ProductKey, orZero(p.Credits)), "%s %v", name, order)
			require.Equal(t, orZero(p.Credits), leftOf(s)["u1 "+p.Kind], "%s %v", name, order)
			license, _ := s.Licenses.Get("u1")
			require.Equal(t, p.Kind == KindPro, license.active(), "%s %v", name, order)
		})
	}
}

// The order of that checkout may be known as a payment of another kind.
func TestACheckoutThatStartsASubscriptionSellsWhateverItsOrderIs(t *testing.T) {
	t.Parallel()
	log := []string{
		at(1, paid("e1", `"id":"s1","order":{"id":"o1","transaction":"t1"},"metadata":{"user_id":"u1","key":"pack_200"}`)),
		at(2, checkout("e2", `"subscription":"s1","order":"o1","product":"tool","metadata":{"user_id":"u1"}`)),
		at(3, paid("e3", `"id":"s1","last_transaction_id":"t2"`)),
	}
	inEveryOrder(t, catalogueRules(t), log, func(s *State, order []int) {
		payment, _ := s.Payments.Get("t2")
		require.Equal(t, []string{KindPro, "u1"}, []string{payment.Kind, payment.UserID}, "%v", order)
	})
}

// The metadata of two events says two kinds, and neither event has a product of the catalogue. Their payment is sold by
// a third event, or by none.
func TestKindsOfMetadataAreNoConflictUnderACatalogue(t *testing.T) {
	t.Parallel()
	unsold := []string{
		at(1, checkout("e1", `"provider_payment_id":"t1","metadata":{"kind":"pro"}`)),
		at(2, checkout("e2", `"order":{"id":"o1","amount_paid":1000},"metadata":{"kind":"one_time","user_id":"u1"}`)),
	}
	for name, c := range map[string]struct{ third, want string }{
		"sold":     {checkout("e3", `"order":{"id":"o1","transaction":"t1"},"product":"pack_200"`), "u1 one_time pack_200 1000 200"},
		"not sold": {checkout("e3", `"order":{"id":"o1","transaction":"t1"}`), " pro  1000 0"},
	} {
		inEveryOrder(t, catalogueRules(t), append(slices.Clone(unsold), at(3, c.third)), func(s *State, order []int) {
			p := s.paymentNamed("t1", s.byTransaction)
			require.Equal(t, c.want, fmt.Sprintf("%s %s %s %d %d", p.UserID, p.Kind, p.ProductKey, orZero(p.Amount), orZero(p.Credits)), "%s %v", name, order)
			require.Equal(t, orZero(p.Credits), leftOf(s)["u1 one_time"], "%s %v", name, order)
		})
	}
}

// A user can spend the same credits in the same months, in any order of arrival. All events are of one month.
func TestMonthsAreThoseOfTheOfferThatCounts(t *testing.T) {
	t.Parallel()
	catalogue, err := catalogue.Parse([]byte(`
version: 1
products:
  months: {kind: subscription, credits: 100, drip: monthly, months: 3, valid_months: 1}
  once: {kind: subscription, credits: 300}
  more: {kind: subscription, credits: 400, valid_months: 2}
  fewer: {kind: subscription, credits: 10, drip: monthly, months: 3, valid_months: 1}
`))
	require.NoError(t, err)
	charged := at(1, paid("e1", `"id":"s1","last_transaction":{"id":"t1"},"metadata":{"user_id":"u1","key":"months"}`))
	again := func(more string) string {
		return at(2, checkout("e2", `"subscription":"s1","provider_payment_id":"t1",`+more))
	}
	ordered := at(2, checkout("e2", `"order":"o1","metadata":{"user_id":"u1","key":"months"}`))
	half := at(3, refund("e3", `"refund_amount":500,"transaction":{"id":"t1","order":"o1","amount_paid":1000}`))
	halfOfUnknown := at(3, refund("e3", `"refund_amount":500,"transaction":{"id":"t1"}`))
	const whole, halved = "2026-01 until 2026-02: 100, 2026-02 until 2026-03: 100, 2026-03 until 2026-04: 100", "2026-01 until 2026-02: 100, 2026-02 until 2026-03: 50"
	for name, c := range map[string]struct {
		log  []string
		want string
	}{
		"one offer":                            {[]string{charged, again(`"metadata":{"key":"months"}`)}, whole},
		"at once, of the same credits":         {[]string{charged, again(`"product":"once"`)}, "2026-01: 300"},
		"more, with another end":               {[]string{charged, again(`"metadata":{"key":"more"}`)}, "2026-01 until 2026-03: 400"},
		"fewer":                                {[]string{charged, again(`"product":"fewer"`)}, strings.ReplaceAll(whole, "100", "10")},
		"more units":                           {[]string{charged, again(`"units":2,"metadata":{"key":"months"}`)}, strings.ReplaceAll(whole, "100", "200")},
		"a transaction and an order are one":   {[]string{charged, ordered, half}, halved},
		"they are one, and sold at once":       {[]string{at(1, checkout("e1", `"provider_payment_id":"t1","product":"once"`)), ordered, half}, "2026-01: 150"},
		"more units after a refund of all":     {[]string{charged, again(`"amount":1000,"units":2,"metadata":{"key":"months"}`), halfOfUnknown}, strings.NewReplacer("100", "200", "50", "100").Replace(halved)},
		"a refund of an amount that was known": {[]string{charged, half}, halved},
		"a refund of an amount that was not":   {[]string{charged, again(`"amount":1000,"metadata":{"key":"months"}`), halfOfUnknown}, halved},
	} {
		inEveryOrder(t, Rules{Mode: ModeAny, Catalogue: catalogue}, c.log, func(s *State, order []int) {
			require.Equal(t, c.want, monthsOf(s), "%s %v", name, order)
		})
	}
}

// monthsOf returns the credits that are left, by the months from which and until which they can be spent.
func monthsOf(s *State) string {
	left := map[string]int64{}
	for _, line := range s.Ledger.Lines() {
		months := line.AvailableAt.Format("2006-01")
		if !line.ExpiresAt.IsZero() {
			months += line.ExpiresAt.Format(" until 2006-01")
		}
		left[months] += line.Delta
	}
	var out []string
	for _, months := range slices.Sorted(maps.Keys(left)) {
		if left[months] != 0 {
			out = append(out, fmt.Sprintf("%s: %d", months, left[months]))
		}
	}
	return strings.Join(out, ", ")
}

// The kind in the metadata is that of the shop's other products.
func TestAProductThatGrantsNothingMayBeCalledAnyKind(t *testing.T) {
	t.Parallel()
	rules := Rules{Mode: ModeAny, Catalogue: catalogueOf("version: 1\nproducts:\n  donation: {kind: none}\n  tool: {kind: pro}")}
	for _, kind := range []string{"", "one_time", "pro", "subscription", "none", "gift"} {
		s := foldInto(t, NewState(), rules, checkout("e1", `"provider_payment_id":"t1","product":"donation","metadata":{"user_id":"u1","product_key":"tool","kind":"`+kind+`"}`))
		require.Equal(t, map[string]string{"e1": "applied"}, outcomes(s), kind)
		p, _ := s.Payments.Get("t1")
		require.Equal(t, []string{"none", "donation", "u1"}, []string{p.Kind, p.ProductKey, p.UserID}, kind)
		require.Equal(t, "none", recorded(t, s, "e1").Kind, kind)
		require.Empty(t, s.Licenses.Inserted(), kind)
	}
}
