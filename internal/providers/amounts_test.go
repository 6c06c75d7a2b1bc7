package providers

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// amountPlaces are where a paid purchase has its amount.
var amountPlaces = map[string][]string{
	"provider": {
		"object.order.amount_paid", "object.last_transaction.amount_paid", "object.amount_paid",
		"object.amount",
	},
	"creem": {
		"object.order.amount_paid", "object.last_transaction.amount_paid", "object.amount_paid",
		"object.amount",
	},
	"stripe":       {"data.object.amount_paid", "data.object.total"},
	"paddle":       {"data.details.totals.grand_total"},
	"polar":        {"data.total_amount"},
	"dodo":         {"data.total_amount"},
	"lemonsqueezy": {"data.attributes.total"},
	"payfold":      {"amount"},
}

// The rules decide what an amount that nobody can use means: the purchase itself is no less paid for.
func TestAnUnusableAmountOfAPurchaseIsKeptAsSuch(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			for _, place := range amountPlaces[p.name] {
				for _, amount := range []any{"12.10", "10.00", 12.5, "12,10", "EUR 12", true, map[string]any{}, json.Number("1e30")} {
					event := eventOf(t, p, payments[p.name], map[string]any{place: amount})
					require.Equal(t, events.Number{Present: true, Bad: true}, event.Amount, "%s %v", place, amount)
					require.Equal(t, []any{events.Payment, false, false}, []any{event.Action, event.Trial, event.Unpaid}, "%s %v",
						place, amount)
				}
				event := eventOf(t, p, payments[p.name], map[string]any{place: -5})
				require.Equal(t, events.Payment, event.Action, place)
				if p == paddle || p == polar { // credit of a change of plan, which later payments use
					require.Equal(t, events.Number{Present: true}, event.Amount, place)
				} else {
					require.Equal(t, events.Number{Present: true, Value: -5}, event.Amount, place)
				}
			}
		})
	}
}

// An unusable number stays in its item.
func TestAnUnusableNumberOfAnItemLeavesTheOthersAsTheyAre(t *testing.T) {
	t.Parallel()
	bad := events.Number{Present: true, Bad: true}
	for _, p := range All {
		l := p.items
		if own := p.events[payments[p.name]].items; own != nil {
			l = *own
		}
		if l.path == "" {
			continue
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			first := func(paths string) string { return strings.Fields(paths)[0] }
			item := func(product string, units, amount any) map[string]any {
				out := map[string]any{}
				put(out, strings.Split(first(l.product), "."), product)
				put(out, strings.Split(first(l.units), "."), units)
				if l.amount != "" {
					put(out, strings.Split(first(l.amount), "."), amount)
				}
				return out
			}
			for _, unusable := range []any{"12.10", 12.5, "many", true} {
				event := eventOf(t, p, payments[p.name], map[string]any{first(l.path): []any{
					item("add_on", unusable, unusable), item("plan", 2, 300), item("other", -1, 300),
				}})
				require.Len(t, event.Items, 2)
				require.Equal(t, []any{"add_on", bad}, []any{event.Items[0].Product, event.Items[0].Units})
				require.Equal(t, []any{"plan", events.Number{Present: true, Value: 2}}, []any{
					event.Items[1].Product,
					event.Items[1].Units,
				})
				require.Zero(t, event.Units)
				if l.amount != "" {
					require.Equal(t, []events.Number{bad, {Present: true, Value: 300}}, []events.Number{
						event.Items[0].Amount,
						event.Items[1].Amount,
					})
				}
			}
		})
	}
}

// In a text, a decimal point means another unit than the minor one. Zero is the same in each.
func TestAnAmountWithADecimalPointIsNotInMinorUnits(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]events.Number{
		`"3.00"`: {Present: true, Bad: true}, `"1e2"`: {Value: 100, Present: true}, `"300"`: {Value: 300, Present: true},
		`300.0`: {Value: 300, Present: true}, `"0.00"`: {Present: true},
	} {
		for _, at := range []string{`"refund_amount":`, `"transaction":{"id":"t","refunded_amount":`, `"transaction":{"id":"t","amount_paid":`} {
			object := at + text
			if strings.Contains(at, "{") {
				object += "}"
			}
			event := creemEvent(t, "refund.created", `"id":"r",`+object)
			require.Contains(t, []events.Number{event.Reversal.Amount, event.Reversal.Total, event.Reversal.Paid}, want, object)
		}
	}
}
