package providers

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

// What a program of the shop writes if it has no value is absent, and the next place is asked.
func TestAPlaceholderIsNoValue(t *testing.T) {
	t.Parallel()
	facts := map[fact]func(events.Event) string{
		user: func(e events.Event) string { return e.UserID }, github: func(e events.Event) string { return e.GitHubUser },
		kind: func(e events.Event) string { return e.Kind }, productKey: func(e events.Event) string { return e.ProductKey },
		writtenName: func(e events.Event) string { return e.Transaction },
	}
	texts := []string{
		"undefined", "null", "NaN", "None", "nil", "<nil>", "[object Object]", "UNDEFINED", " null ",
		"\tNone\n",
	}
	for _, p := range All {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			eventType := payments[p.name]
			for f, read := range facts {
				places := placesOf(p, eventType, f)
				for i, place := range places {
					require.Equal(t, "x7", read(eventOf(t, p, eventType, map[string]any{place: "x7"})), place)
					for _, text := range texts {
						values := map[string]any{place: text}
						require.Empty(t, read(eventOf(t, p, eventType, values)), "%s %q", place, text)
						if i+1 < len(places) && !strings.HasPrefix(places[i+1], place) {
							values[places[i+1]] = "x7"
							require.Equal(t, "x7", read(eventOf(t, p, eventType, values)), "%s %q", place, text)
						}
					}
				}
			}
		})
	}
}

func TestATextThatContainsAPlaceholderIsAValue(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"nullable", "u_null", "undefined-1", "0", "nano", "(none)"} {
		require.Equal(t, text, with(t, map[string]any{"metadata.user_id": text}).UserID)
	}
}

// A subscription can have the metadata that a checkout lacks.
func TestMetadataWithoutAMemberIsAbsent(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			eventType := payments[p.name]
			bases := strings.Fields(p.metadata)
			if p == stripe {
				bases = []string{
					"data.object.parent.subscription_details.metadata", "data.object.subscription_details.metadata",
					"data.object.lines.data[0].metadata", "data.object.metadata",
				}
			}
			for i, first := range bases {
				for _, second := range bases[i+1:] {
					for _, empty := range []any{map[string]any{}, []any{}, nil, ""} {
						event := eventOf(t, p, eventType, map[string]any{
							first: empty, second + ".user_id": "u_7",
							second + ".github": "octo",
						})
						require.Equal(t, []string{"u_7", "octo"}, []string{event.UserID, event.GitHubUser}, "%s before %s", first, second)
					}
				}
			}
		})
	}
}

// The name that a buyer types into a field of the checkout counts where the metadata has none.
func TestTheGitHubUserIsTakenFromACustomField(t *testing.T) {
	t.Parallel()
	field := func(key, value string) map[string]any {
		return map[string]any{"key": key, "type": "text", "value": value, "text": map[string]any{"value": value}}
	}
	for _, p := range []*Provider{specification, creem, stripe, dodo} {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			eventType := payments[p.name]
			if p == stripe {
				eventType = "checkout.session.completed"
			}
			fields := []any{
				field("company", "acme"), field("GitHub_name", "undefined"), field("github", "@Octo"),
				field("github2", "hubot"),
			}
			values := map[string]any{p.answers.path: fields}
			require.Equal(t, "Octo", eventOf(t, p, eventType, values).GitHubUser)
			for _, place := range placesOf(p, eventType, github) {
				values[place] = "own"
				require.Equal(t, "own", eventOf(t, p, eventType, values).GitHubUser, place)
				values[place] = "null"
				require.Equal(t, "Octo", eventOf(t, p, eventType, values).GitHubUser, place)
				delete(values, place)
			}
		})
	}
}

// payments is a type of each provider that means a payment.
var payments = map[string]string{
	"provider": "checkout.completed", "creem": "checkout.completed", "stripe": "invoice.paid",
	"paddle": "transaction.completed",
	"polar":  "order.paid", "dodo": "payment.succeeded", "lemonsqueezy": "order_created", "payfold": "payment",
}

// placesOf are the paths of a fact; those of metadata are in its first object.
func placesOf(p *Provider, eventType string, f fact) []string {
	base, _, _ := strings.Cut(p.metadata, " ")
	return slices.Collect(func(yield func(string) bool) {
		for path := range strings.FieldsSeq(p.paths(p.events[eventType], f)) {
			if key, ofMetadata := strings.CutPrefix(path, "@"); ofMetadata {
				path = base + "." + key
			}
			if !yield(path) {
				return
			}
		}
	})
}
