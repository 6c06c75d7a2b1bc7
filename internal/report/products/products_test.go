package products_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/products"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

const inUse = "  pack: {kind: one_time, credits: 25}\n"

func parsed(t *testing.T, text string) *catalogue.Catalogue {
	t.Helper()
	c, err := catalogue.Parse([]byte("version: 1\nproducts:\n" + text))
	require.NoError(t, err)
	return c
}

// setup returns the tables of a shop whose catalogue has a pack, and not everything that was bought.
func setup(t *testing.T) (context.Context, *store.Store) {
	t.Helper()
	ctx, s := fixture.Tables(t)
	rules := projections.Rules{Mode: projections.ModeAny, Catalogue: parsed(t, inUse)}
	fixture.Reset(ctx, t, s, rules)
	var log []events.Event
	for i, bought := range []struct{ user, product, more string }{
		{"u1", "big", `,"amount":900,"currency":"EUR"`},
		{"u1", "big", `,"amount":900,"currency":"EUR","units":3`},
		{"u2", "big", `,"amount":1000,"currency":"USD"`},
		{"u3", "gone", ``},
		{"u1", "pack", ``},
	} {
		log = append(log, fixture.Event(t, uint64(i+1), fmt.Sprintf(
			`{"id":"e%[1]d","eventType":"checkout.completed","object":{"provider_payment_id":"t%[1]d","product":%[2]q,"metadata":{"user_id":%[3]q}%[4]s}}`,
			i+1, bought.product, bought.user, bought.more)))
	}
	_, err := live.Apply(ctx, s, rules, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
	require.NoError(t, err)
	return ctx, s
}

func TestACatalogueIsComparedWithWhatWasBought(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	for name, c := range map[string]struct {
		products string
		want     string
	}{
		"the same": {inUse, "It lacks product big: 3 purchases, 2 buyers, EUR 18.00, USD 10.00.\n" +
			"It lacks product gone: 1 purchase, 1 buyer.\nThe live tables were folded with this catalogue.\n"},
		"a product that was bought": {
			inUse + "  big: {kind: one_time, credits: 100}\n",
			"It adds big.\nProduct big was bought: 3 purchases, 2 buyers, EUR 18.00, USD 10.00. It would grant 500 credits.\n" +
				"It lacks product gone: 1 purchase, 1 buyer.\n" +
				"It needs projector rebuild --promote; projector rebuild --dry-run says by user what would change.\n",
		},
		"a product that nobody has named": {inUse + "  huge: {kind: one_time, credits: 1000}\n", "It adds huge.\n" +
			"It lacks product big: 3 purchases, 2 buyers, EUR 18.00, USD 10.00.\nIt lacks product gone: 1 purchase, 1 buyer.\n" +
			"It needs no rebuild: restart the projectors with it.\n"},
		"other offers, and one less": {"  big: {kind: pro}\n  gone: {kind: none}\n", "It adds big, gone.\nIt removes pack.\n" +
			"Product big was bought: 3 purchases, 2 buyers, EUR 18.00, USD 10.00. It would give a licence to each buyer whose purchase is kept.\n" +
			"Product gone was bought: 1 purchase, 1 buyer. It would grant nothing.\n" +
			"It needs projector rebuild --promote; projector rebuild --dry-run says by user what would change.\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sold := parsed(t, c.products)
			answer, err := products.Check(ctx, s, sold)
			require.NoError(t, err)
			checked := products.Checked{File: "next.yaml", Products: len(sold.Summary().Products), Answer: &answer}
			var text bytes.Buffer
			require.NoError(t, checked.Write(&text, false))
			_, said, _ := bytes.Cut(text.Bytes(), []byte("\n"))
			require.Equal(t, c.want, string(said))
			require.Equal(t, len(answer.Missing) == 0, checked.Holds())
		})
	}
}

func TestAProductThatMayBeListedByItsPriceIsNotCalledMissing(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	_, err := s.Pool().Exec(ctx, "insert into unlisted_product (product) values ('price_1')") // an event that names big, too
	require.NoError(t, err)
	answer, err := products.Check(ctx, s, parsed(t, inUse+"  price_1: {kind: one_time, credits: 100}\n  gone: {kind: none}\n"))
	require.NoError(t, err)
	checked := products.Checked{Answer: &answer}
	require.True(t, checked.Holds())
	var text bytes.Buffer
	require.NoError(t, checked.Write(&text, false))
	require.Contains(t, text.String(), "It has no product big: 3 purchases, 2 buyers, EUR 18.00, USD 10.00. "+
		"But it adds price_1, which events name, too: projector rebuild --dry-run says what each purchase gets.\n")
	require.Contains(t, text.String(), "Product gone was bought: 1 purchase, 1 buyer. It would grant nothing.\n")
}

func TestPurchasesThatGrantNothingAreToldApart(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	rules := projections.Rules{Mode: projections.ModeAny, Catalogue: parsed(t, inUse)}
	fixture.Reset(ctx, t, s, rules)
	var log []events.Event
	for i, event := range []string{
		`"eventType":"checkout.completed","object":{"provider_payment_id":"t1","product":"big","metadata":{"user_id":"u1"}}`,
		`"eventType":"checkout.completed","object":{"provider_payment_id":"t2","product":"big","metadata":{"user_id":"u2"}}`,
		`"eventType":"refund.created","object":{"provider_payment_id":"t2"}`,
		`"eventType":"checkout.completed","object":{"provider_payment_id":"t3","product":"big"}`,
		`"eventType":"checkout.completed","object":{"provider_payment_id":"t4","product":"big","subscription":{"id":"s1"}}`,
		`"eventType":"subscription.active","object":{"subscription":{"id":"s1"},"metadata":{"user_id":"u4"}}`,
	} {
		log = append(log, fixture.Event(t, uint64(i+1), fmt.Sprintf(`{"id":"e%d",%s}`, i+1, event)))
	}
	_, err := live.Apply(ctx, s, rules, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
	require.NoError(t, err)
	answer, err := products.Check(ctx, s, parsed(t, inUse+"  big: {kind: one_time, credits: 100}\n"))
	require.NoError(t, err)
	require.Len(t, answer.Granted, 1)
	b := answer.Granted[0]
	require.Equal(t, []int{4, 3, 1, 1}, []int{b.Purchases, b.Buyers, b.Refunded, b.Userless})
	require.EqualValues(t, 200, b.Credits)
}

// The fee with which a trial begins grants what the trial does.
func TestAFeeOfATrialIsNotShownAsAPurchaseOfThePlan(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	rules := projections.Rules{Mode: projections.ModeAny, Catalogue: parsed(t, inUse)}
	fixture.Reset(ctx, t, s, rules)
	var log []events.Event
	for i, event := range []string{
		`{"meta":{"event_name":"order_created","custom_data":{"user_id":"u1"}},"data":{"id":"1","attributes":{"updated_at":"2026-01-01T10:00:00Z",
			"status":"paid","total":500,"first_order_item":{"variant_id":1}}}}`,
		`{"meta":{"event_name":"subscription_created","custom_data":{"user_id":"u1"}},"data":{"id":"1","attributes":{"updated_at":"2026-01-01T10:00:01Z",
			"status":"on_trial","order_id":1,"variant_id":1,"renews_at":"2026-01-08T10:00:00Z"}}}`,
	} {
		log = append(log, providers.Decode(events.Message{Provider: "lemonsqueezy", Seq: uint64(i + 1), Body: []byte(event), ReceivedAt: time.Now()}))
	}
	_, err := live.Apply(ctx, s, rules, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
	require.NoError(t, err)
	answer, err := products.Check(ctx, s, parsed(t, inUse+"  lemonsqueezy:variant:1: {kind: subscription, credits: 100, trial_credits: 7}\n"))
	require.NoError(t, err)
	require.Len(t, answer.Granted, 1)
	require.EqualValues(t, 7, answer.Granted[0].Credits)
}

func TestWithoutADatabaseOnlyTheFileIsChecked(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	checked := products.Checked{File: "next.yaml", Products: 1, NotAsked: "there is no database"}
	require.NoError(t, checked.Write(&text, false))
	require.Equal(t, "next.yaml is a catalogue of 1 product.\nOnly the file was checked: there is no database.\n", text.String())
	require.True(t, checked.Holds())
	text.Reset()
	checked.Faults = []string{"version must be a whole number from 1", "products is empty"}
	require.NoError(t, checked.Write(&text, false))
	require.Equal(t, "next.yaml: version must be a whole number from 1\nnext.yaml: products is empty\n", text.String())
	require.False(t, checked.Holds())
}
