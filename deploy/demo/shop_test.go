package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

var now = time.Date(2026, 11, 28, 3, 0, 0, 0, time.UTC)

func TestTheShopIsTheSameEachTime(t *testing.T) {
	t.Parallel()
	require.Equal(t, newShop(now).inOrder(), newShop(now).inOrder())
	later := newShop(now.Add(1000 * time.Hour))
	require.Equal(t, newShop(now).ids(), later.ids(), "the ids do not depend on the time")
}

func TestEachBodyIsOneOfItsProvidersAndOfTheQuarter(t *testing.T) {
	t.Parallel()
	shop := newShop(now)
	bodies := map[string]int{}
	for _, d := range shop.inOrder() {
		event, err := providers.Named(d.provider).Parse(d.body, d.id)
		require.NoError(t, err, "%s", d.body)
		require.Equal(t, d.id, event.ID)
		require.NotEqual(t, events.Test, event.Mode)
		require.WithinRange(t, event.OccurredAt, now.AddDate(0, 0, -92), now, "%s", d.body)
		bodies[string(d.body)]++
	}
	require.Len(t, bodies, len(shop.deliveries)-1, "one delivery comes twice, and no other")
	require.Len(t, shop.ids(), len(shop.deliveries)-2, "one id has two bodies")
}

func TestTimesIDsAndTextsOfAnExampleAreReplaced(t *testing.T) {
	t.Parallel()
	b := body{
		moved: 24 * time.Hour,
		ids:   map[string]string{"sub_": "sub_new"}, texts: map[string]string{"u_1": "u_ada", "1900": "2900"},
	}
	made := b.replace(map[string]any{
		"stripe": json.Number("1772359202"), "creem": json.Number("1772359203000"), "paddle": "2026-03-01T10:00:41.123456Z",
		"list": []any{"sub_old", "u_1", json.Number("1900"), "1900", json.Number("19"), true},
	})
	require.Equal(t, map[string]any{
		"stripe": int64(1772445602), "creem": int64(1772445603000), "paddle": "2026-03-02T10:00:41.123456Z",
		"list": []any{"sub_new", "u_ada", json.Number("2900"), "2900", json.Number("19"), true},
	}, made)
}
