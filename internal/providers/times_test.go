package providers

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestOccurredAtIsTheProvidersTimeIfItIsPlausible(t *testing.T) {
	t.Parallel()
	received := at("2026-01-02T10:00:00Z")
	for created, want := range map[string]time.Time{
		`1767348000000`:               at("2026-01-02T10:00:00Z"),
		`"2026-01-02T12:00:00+02:00"`: at("2026-01-02T10:00:00Z"),
		`1767348600000`:               at("2026-01-02T10:10:00Z"), // ingest is ten minutes behind
		`1767434400000`:               at("2026-01-03T10:00:00Z"),
		`1767434400001`:               received, // more than a day ahead
		`1767348000`:                  received, // seconds are not guessed
		`0`:                           received,
		`946684800000`:                at("2000-01-01T00:00:00Z"),
		`946684799999`:                received, // 1999
		`9223372036854775807`:         received,
		`-9223372036854775808`:        received,
		`1e400`:                       received,
		`"soon"`:                      received,
		`null`:                        received,
	} {
		event := Decode(events.Message{Provider: "provider", ReceivedAt: received, Body: []byte(
			`{"id":"e","eventType":"t","created_at":` + created + `,"object":{}}`)})
		require.Equal(t, want, event.OccurredAt, created)
	}
}

// Two ingests whose clocks differ give the same event the same time.
func TestOccurredAtDoesNotDependOnTheClockOfIngest(t *testing.T) {
	t.Parallel()
	m := events.Message{
		Provider: "provider",
		Body:     []byte(`{"id":"e","eventType":"t","created_at":"2026-01-02T10:00:00Z","object":{}}`),
	}
	for _, received := range []string{
		"2026-01-01T10:00:00Z", "2026-01-02T09:50:00Z", "2026-01-02T10:00:01Z",
		"2027-01-01T00:00:00Z",
	} {
		m.ReceivedAt = at(received)
		require.Equal(t, at("2026-01-02T10:00:00Z"), Decode(m).OccurredAt, received)
	}
}

// implausible are times that no shop has, in each unit. 1767348000 is a time in seconds.
var implausible = []any{
	0, -1, 1, "0", "", "soon", true, json.Number("1e300"), json.Number("9223372036854775807"),
	json.Number("-9223372036854775808"),
	"0000-01-01T00:00:00Z", "1970-01-01T00:00:00Z", "1999-12-31T23:59:59Z", "2100-01-01T00:00:00Z", "9999-12-31T23:59:59Z",
	json.Number("4102444800000"), // 2100 in milliseconds
}

func TestAnImplausibleTimeIsAbsentForEachProvider(t *testing.T) {
	t.Parallel()
	for _, p := range All {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			unit, otherUnit := any(1767348000000), any(1767348000)
			if p.seconds {
				unit, otherUnit = otherUnit, unit
			}
			read := map[string]bool{}
			check := func(name, eventType, path string, of func(events.Event) time.Time) {
				for _, value := range append(slices.Clone(implausible), otherUnit) {
					event := eventOf(t, p, eventType, map[string]any{path: value})
					require.True(t, of(event).IsZero(), "%s %s %v", eventType, path, value)
				}
				for _, value := range []any{unit, "2026-01-02T10:00:00Z"} {
					if moment := of(eventOf(t, p, eventType, map[string]any{path: value})); !moment.IsZero() {
						require.Equal(t, at("2026-01-02T10:00:00Z"), moment)
						read[name] = true
					}
				}
			}
			for eventType, m := range p.events {
				for path := range strings.FieldsSeq(p.time) {
					check("time", eventType, path, func(e events.Event) time.Time { return e.OccurredAt })
				}
				for f, of := range map[fact]func(events.Event) time.Time{
					periodStart: func(e events.Event) time.Time { return e.PeriodStart },
					periodEnd:   func(e events.Event) time.Time { return e.PeriodEnd },
					canceledAt:  func(e events.Event) time.Time { return e.CanceledAt },
				} {
					for path := range strings.FieldsSeq(p.paths(m, f)) {
						check(describedFacts[f].what, eventType, path, of)
					}
				}
			}
			require.True(t, read["time"])
			require.True(t, read[describedFacts[periodEnd].what])
		})
	}
}

func TestAnImplausibleTimeInAnItemIsAbsent(t *testing.T) {
	t.Parallel()
	for _, value := range append(slices.Clone(implausible), 1767348000000) {
		event := eventOf(t, stripe, "customer.subscription.updated", map[string]any{
			"data.object.items.data[0].current_period_start": value, "data.object.items.data[0].current_period_end": value,
		})
		require.True(t, event.PeriodStart.IsZero() && event.PeriodEnd.IsZero(), value)
	}
}

func TestAnImplausibleTimeDoesNotEndASubscription(t *testing.T) {
	t.Parallel()
	for _, value := range append(slices.Clone(implausible), 1767348000000) {
		event := eventOf(t, stripe, "customer.subscription.updated", map[string]any{
			"data.object.cancel_at": value, "data.object.status": "active", "data.object.current_period_end": 1767348000,
		})
		require.Equal(t, events.Active, event.Status, value)
	}
}

// eventOf is the event of a body with these values, by path.
func eventOf(t *testing.T, p *Provider, eventType string, values map[string]any) events.Event {
	t.Helper()
	body := map[string]any{}
	if p.id != inHeader && p.id != ofBody {
		put(body, strings.Split(p.id, "."), "e")
	}
	put(body, strings.Split(p.kind, "."), eventType)
	if p.object != "" {
		put(body, strings.Split(p.object, "."), map[string]any{})
	}
	for path := range strings.FieldsSeq(p.marks) {
		put(body, strings.Split(path, "."), nil)
	}
	for path, value := range values {
		put(body, strings.Split(path, "."), value)
	}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	event, err := p.Parse(text, "msg_1")
	require.NoError(t, err, string(text))
	return event
}
