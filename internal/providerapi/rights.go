package providerapi

import "strings"

// right is what a key must be allowed to read for the paths that begin with this one, in the words of the provider.
type right struct{ name, path string }

// rights are all that the keys of a provider need: to ask for events, and to ask for objects.
type rights struct{ events, objects []right }

// rightsByProvider has the providers whose keys have rights to choose: docs.stripe.com/keys/restricted-api-keys,
// developer.paddle.com/api-reference/about/permissions, and the scopes of polarsource/polar, server/polar/auth/scope.py.
var rightsByProvider = map[string]rights{
	"stripe": {
		events: []right{{"Events", "/v1/events"}},
		objects: []right{
			{"Invoices", "/v1/invoices"},
			{"Checkout Sessions", "/v1/checkout/sessions"},
			{"PaymentIntents", "/v1/payment_intents"},
			{"Charges and Refunds", "/v1/charges"},
			{"Charges and Refunds", "/v1/refunds"},
			{"Disputes", "/v1/disputes"},
			{"Subscriptions", "/v1/subscriptions"},
		},
	},
	"paddle": {
		events: []right{{"notification.read", "/events"}},
		objects: []right{
			{"transaction.read", "/transactions"},
			{"subscription.read", "/subscriptions"},
			{"adjustment.read", "/adjustments"},
		},
	},
	"polar": {
		events: []right{{"webhooks:read", "/v1/webhooks"}},
		objects: []right{
			{"orders:read", "/v1/orders"},
			{"subscriptions:read", "/v1/subscriptions"},
			{"refunds:read", "/v1/refunds"},
		},
	},
}

// rightOf names the right that a key needs for a path; empty if the provider's keys have none to choose.
func rightOf(provider, path string) string {
	of := rightsByProvider[provider]
	for _, list := range [][]right{of.events, of.objects} {
		for _, r := range list {
			if strings.HasPrefix(path, r.path) {
				return r.name
			}
		}
	}
	return ""
}
