package catalogue

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAllFaultsOfACatalogueAreReportedAtOnce(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte(`
version: 0
products:
  a: {kind: gift}
  b: {kind: one_time}
  c: {kind: pro, credits: 5}
  d: {kind: subscription, credits: 0}
  e: {kind: subscription, credits: 5, drip: weekly, months: 2}
  f: {kind: subscription, credits: 5, months: 2}
  g: {kind: subscription, credits: 5, drip: monthly}
  h: {kind: subscription, credits: 5, valid_months: 100000}
  i: [{kind: subscription, from: yesterday}]
  j: [{kind: subscription}, {kind: pro}]
  k: []
  l: {kind: subscription, credits: 1000000000001}
  m: {kind: subscription, credits: 5, drip: monthly, months: 1201}
  n: {kind: none, credits: 5}
  o: {kind: none, valid_months: 5}
  p: {kind: pro, trial_credits: 5}
  q: {kind: subscription, trial_credits: 0}
  r: {kind: subscription, lasts: subscription}
  s: {kind: pro, lasts: year}
  t: {kind: pro, grace_days: 3}
  u: {kind: one_time, credits: 5, grace_days: 3}
  v: {kind: subscription, grace_days: 367}
  w: {kind: pro, lasts: subscription, grace_days: -1}
  x: {kind: none, name: "two\nlines"}
  y: {kind: none, prices: [{amount: -1, currency: eur, every: week}, {currency: EUR}]}
  z: {kind: one_time, credits: 5, prices: [{amount: 1, currency: EUR, every: month}]}
`))
	require.Error(t, err)
	for _, fault := range []string{
		"version", "product a, offer 1: kind", "product b, offer 1: a one_time", "product c, offer 1: a pro", "product d, offer 1: credits",
		"product e, offer 1: drip", "product f, offer 1: months", "product g, offer 1: a drip", "product h, offer 1: valid_months",
		"product i, offer 1: from", "product j has two offers", "product k has no offer",
		"product l, offer 1: credits", "product m, offer 1: a drip",
		"product n, offer 1: a product of kind none", "product o, offer 1: a product of kind none",
		"product p, offer 1: trial_credits needs",
		"product q, offer 1: trial_credits is 0, must be 1 to", "product r, offer 1: lasts needs",
		`product s, offer 1: lasts is "year"`,
		"product t, offer 1: grace_days needs", "product u, offer 1: grace_days needs",
		"product v, offer 1: grace_days is 367, must be 0 to 366",
		"product w, offer 1: grace_days is -1", "product x, offer 1: name", "product y, offer 1: amount of price 1 is -1",
		`product y, offer 1: currency of price 1 is "eur"`, `product y, offer 1: every of price 1 is "week"`,
		"product y, offer 1: price 2 has no amount", "product z, offer 1: price 1 has every",
	} {
		require.ErrorContains(t, err, fault)
	}
	for _, text := range []string{"", "products: {a: {kind: pro}}", "version: 1\nproduct: {}", "version: [", "version: 1\nproducts: {a: {kind: pro, colour: red}}"} {
		_, err := Parse([]byte(text))
		require.Error(t, err, text)
	}
}

func TestAWrongTypeIsNamedWithItsKeyAndWhatIsWanted(t *testing.T) {
	t.Parallel()
	for text, fault := range map[string]string{
		"version: one\nproducts: {a: {kind: pro}}":              `[1:10] version is "one", must be a whole number`,
		"version: 99999999999999999999\nproducts: {}":           `[1:10] version is "99999999999999999999", must be a whole number`,
		"version: 1\nproducts: nothing":                         `[2:11] products is "nothing", must be a mapping`,
		"version: 1\nproducts: {a: {kind: pro, credits: many}}": `[2:36] credits is "many", must be a whole number`,
		"version: 1\nproducts: {a: {kind: pro, credits: 5.5}}":  `[2:36] credits is "5.5", must be a whole number`,
		"version: 1\nproducts: {a: [{kind: pro, credits: x}]}":  `[2:37] credits is "x", must be a whole number`,
		"version: 1\nproducts: {a: {kind: [x]}}":                `[2:22] kind is a list, must be a text`,
		"version: 1\nproducts:\n  a:\n    kind:\n      x: y\n":  `[5:7] kind is a mapping, must be a text`,
		"version: 1\nproducts: {a: 5}":                          `[2:15] a is "5", must be a mapping`,
		"version: 1\nproducts: {a: [5]}":                        `[2:16] this is "5", must be a mapping`,
		"version: 1\nproducts: {123: {kind: pro}}":              `[2:12] product 123 must be in quotes`,
		"version: 1\nproducts:\n  1.5:\n    kind: pro\n":        `[3:3] product 1.5 must be in quotes`,
		"version: 1\nproducts: {true: {kind: pro}}":             `[2:12] product true must be in quotes`,
		"version: 1\nproducts: {!!str 123: {kind: pro}}":        `[2:12] product !!str 123 must be in quotes`,
		"version: 1\nproducts: {a: {kind: pro, colour: red}}":   `[2:27] unknown field "colour"`,
		"version: 1\nproducts: {a: [{kind: pro, colour: red}]}": `[2:28] unknown field "colour"`,
		"version: 1\nproducts: {a: {kind: none, prices: 5}}":    `[2:36] prices is "5", must be a list`,
		"version: 1\nproducts: {a: {prices: [{amount: 12.1}]}}": `[2:34] amount is "12.1", must be a whole number`,
		"version: 1\nproducts: {a: {prices: [{colour: red}]}}":  `[2:26] unknown field "colour"`,
		"version: 1\nproducts: {a: {kind: pro}}\n---\nb: 1":     `something follows the line ---`,
		"version: 1\nproducts: {}\n---\n---\nb: 1":              `something follows the line ---`,
		"version: 1\nproducts: {}\n--- # b\n\n# c\n---\nb: 1":   `something follows the line ---`,
		"version: 1\nversion: 2\nproducts: {a: {kind: pro}}":    `[2:1] mapping key "version" already defined at [1:1]`,
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, fault, text)
		require.NotContains(t, err.Error(), "Go ", text)
	}
}

func TestAnOfferHasWhatIsWritten(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte(`
version: 1
products:
  plan: {kind: subscription, credits: 100, trial_credits: 20, grace_days: 7, name: Plan "Größe L", prices: [
    {amount: 1900, currency: EUR, every: month}, {amount: 19000, currency: USD, every: year}]}
  tool: {kind: pro, lasts: subscription, grace_days: 0}
  tool_for_ever: {kind: pro}
  donation: {kind: none, name: Donation, prices: [{amount: 0, currency: JPY}]}
`))
	require.NoError(t, err)
	for product, want := range map[string]Offer{
		"plan": {
			Kind: Subscription, Credits: 100, Months: 1, TrialCredits: 20, GraceDays: 7,
		},
		"tool":          {Kind: Pro, Months: 1, LastsAsSubscription: true},
		"tool_for_ever": {Kind: Pro, Months: 1},
		"donation":      {Kind: None, Months: 1},
	} {
		require.Equal(t, &want, c.Offer(product, time.Now()), product)
	}
}

func TestAProductMayBeNamedByANumber(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte(`{version: 1, products: {"123": {kind: pro}}}`))
	require.NoError(t, err)
	require.True(t, c.Sells("123"))
}

func TestACatalogueMayStandBetweenLinesOfThreeDashes(t *testing.T) {
	t.Parallel()
	c, err := Parse([]byte("# our products\n---\nversion: 1\nproducts: {a: {kind: pro}}\n---\n"))
	require.NoError(t, err)
	require.True(t, c.Sells("a"))
}
