package browse

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestEventsAreFilteredAndExplained(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, shop...)
	for name, list := range map[string]struct {
		Filter
		ids []string
	}{
		"newest":             {Filter{}, []string{"e12", "e11", "e10", "e9", "e8", "e7", "e6", "e4", "e3", "e2", "e1"}},
		"type":               {Filter{Type: "checkout.completed"}, []string{"e12", "e11", "e8", "e7", "e6", "e2", "e1"}},
		"types":              {Filter{Type: "subscription.*"}, []string{"e10", "e4"}},
		"beginning":          {Filter{Type: "cust*"}, []string{"e9"}},
		"no wildcard inside": {Filter{Type: "%.created"}, []string{}},
		"outcome":            {Filter{Outcome: "rejected"}, []string{"e12", "e7", "e6"}},
		"reason":             {Filter{Reason: "missing_user"}, []string{"e7"}},
		"kind":               {Filter{Kind: "pro"}, []string{"e8"}},
		"user":               {Filter{User: "u1"}, []string{"e12", "e10", "e4", "e3", "e2", "e1"}},
		"payment":            {Filter{Payment: "t1"}, []string{"e6", "e3", "e2", "e1"}},
		"payment's order":    {Filter{Payment: "o1"}, []string{"e6", "e3", "e2", "e1"}},
		"no table has it":    {Filter{Payment: "o7"}, []string{"e7"}},
		"subscription":       {Filter{Subscription: "s1"}, []string{"e10", "e4"}},
		"two names":          {Filter{User: "thief", Payment: "t1"}, []string{"e6"}},
		"name and outcome":   {Filter{User: "u1", Outcome: "duplicate_payment"}, []string{"e2"}},
		"time":               {Filter{From: receivedAt(3), To: receivedAt(7)}, []string{"e6", "e4", "e3"}},
		"before":             {Filter{Before: 3}, []string{"e2", "e1"}},
		"nobody":             {Filter{User: "nobody\x00\xff"}, []string{}},
	} {
		got, err := Events(ctx, s, list.Filter, 100)
		require.NoError(t, err, name)
		require.Equal(t, list.ids, ids(got.Items), name)
		require.Nil(t, got.Next, name)
		require.True(t, got.Complete, name)
		require.Equal(t, store.LiveSchema, got.Schema)
		require.EqualValues(t, 12, got.Position)
	}
	rejected, err := Events(ctx, s, Filter{Reason: "payment_conflict"}, 1)
	require.NoError(t, err)
	require.Contains(t, rejected.Items[0].Why, "names user u1: payment")
	text, err := page.Marshal(rejected)
	require.NoError(t, err)
	require.Contains(t, string(text), `"items":[{"event_id":"e6","stream_seq":6,`)
	require.Contains(t, string(text), `"why":"It names another user`)
}

func TestNewEventsDoNotDisturbThePages(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t, packs(25)...)
	var seen []string
	applied := uint64(25)
	for next := new(int64); next != nil; {
		page, err := Events(ctx, s, Filter{User: "u1", Before: *next}, 10)
		require.NoError(t, err)
		seen = append(seen, ids(page.Items)...)
		next = page.Next
		apply(ctx, t, s, applied, fixture.Pack(fmt.Sprintf("new%d", applied), fmt.Sprintf("new%d", applied), "u1", 1))
		applied++
	}
	require.Len(t, seen, 25)
	for i, id := range seen {
		require.Equal(t, fmt.Sprintf("e%d", 25-i), id)
	}
}

// fill adds events of which every nth is rejected, after those that the tables have.
func fill(ctx context.Context, t require.TestingT, s *store.Store, from, to, nth int) {
	_, err := s.Pool().Exec(ctx, `insert into processed_event (event_id, stream_seq, event_type, action, user_id, outcome, reason, occurred_at, received_at)
		select 'f' || i, i, 'x', 'payment', 'u1', case when i % $3 = 0 then 'rejected' else 'ignored' end, case when i % $3 = 0 then 'missing_user' end,
		$4::timestamptz, $4::timestamptz + (i - 1) * interval '1 minute' from generate_series($1::int, $2::int) i`, from, to, nth, received)
	require.NoError(t, err)
}

func TestAPageLooksAtABoundedNumberOfEventsAndSaysHowFar(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	const oldest, last = 1_000_000, 1_000_000 + 2*window + 10
	fill(ctx, t, s, oldest, last, oldest) // only the oldest one is rejected
	setType(ctx, t, s, "rare", oldest)
	for name, of := range map[string]struct {
		Filter
		window int64
	}{"all": {Filter{Type: "rare"}, window}, "of a user": {Filter{Outcome: "rejected", User: "u1"}, namedWindow}} {
		f, pages := of.Filter, 0
		for {
			page, err := Events(ctx, s, f, 10)
			require.NoError(t, err)
			pages++
			if page.Next == nil {
				require.Equal(t, []string{"f1000000"}, ids(page.Items), name)
				require.True(t, page.Complete)
				break
			}
			require.Empty(t, page.Items)
			require.False(t, page.Complete)
			require.EqualValues(t, last+1-int64(pages)*of.window, page.SearchedTo, name)
			require.Equal(t, page.SearchedTo, *page.Next)
			f.Before = *page.Next
		}
		require.EqualValues(t, (last-oldest)/of.window+1, pages, name)
	}
	for _, f := range []Filter{{Outcome: "rejected"}, {Reason: "missing_user"}} {
		page, err := Events(ctx, s, f, 10)
		require.NoError(t, err)
		require.Equal(t, []string{"f1000000"}, ids(page.Items), "rejected events have an index")
		require.Nil(t, page.Next)
		require.True(t, page.Complete)
	}
}

func setType(ctx context.Context, t *testing.T, s *store.Store, name string, seqs ...int64) {
	t.Helper()
	_, err := s.Pool().Exec(ctx, "update processed_event set event_type = $1 where stream_seq = any($2)", name, seqs)
	require.NoError(t, err)
}

func TestAPageLooksAtABoundedNumberOfRejectedEvents(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	fill(ctx, t, s, 1, namedWindow+5, 1) // all are rejected
	setType(ctx, t, s, "rare", 2)
	page, err := Events(ctx, s, Filter{Outcome: "rejected", Type: "rare"}, 10)
	require.NoError(t, err)
	require.Empty(t, page.Items)
	require.False(t, page.Complete)
	require.EqualValues(t, 6, *page.Next)
	page, err = Events(ctx, s, Filter{Outcome: "rejected", Type: "rare", Before: *page.Next}, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"f2"}, ids(page.Items))
	require.Nil(t, page.Next)
}

// A page counts events, not the numbers that no event has, as where a log was adopted.
func TestAGapInTheSequencesIsNoPage(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	fill(ctx, t, s, 1, 10, 10)
	fill(ctx, t, s, 10_000_000, 10_000_010, 100)
	setType(ctx, t, s, "rare", 10, 10_000_000)
	page, err := Events(ctx, s, Filter{Type: "rare"}, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"f10000000", "f10"}, ids(page.Items))
	require.Nil(t, page.Next)
}

// The pages of a list have exactly what a filter over the whole table gives.
func TestPagesAreTheWholeList(t *testing.T) {
	t.Parallel()
	ctx, s := setup(t)
	rapid.Check(t, func(t *rapid.T) {
		_, err := s.Pool().Exec(ctx, "truncate processed_event")
		require.NoError(t, err)
		length := rapid.IntRange(0, 60).Draw(t, "length")
		for i := range length { // the log's clock is off by up to the slack
			off := time.Duration(rapid.IntRange(-5, 4).Draw(t, "off")) * time.Minute
			seq := int64(i + 1 + i/7*5)
			_, err := s.Pool().Exec(ctx, `insert into processed_event (event_id, stream_seq, event_type, action, user_id, provider_payment_id, outcome, reason, occurred_at, received_at)
				values ($1, $2, $3, 'payment', $4, $5, $6, case $6 when 'rejected' then 'missing_user' when 'ignored' then 'unpaid' end, $7, $7)`, fmt.Sprint("e", seq), seq, rapid.SampledFrom([]string{"a.x", "a.y", "b"}).Draw(t, "type"),
				rapid.SampledFrom([]string{"u1", "u2"}).Draw(t, "user"), rapid.SampledFrom([]string{"p1", "p2"}).Draw(t, "payment"),
				rapid.SampledFrom([]string{"applied", "ignored", "rejected"}).Draw(t, "outcome"), receivedAt(seq).Add(off))
			require.NoError(t, err)
		}
		f := Filter{
			Type: rapid.SampledFrom([]string{"", "a.*", "b"}).Draw(t, "types"), Outcome: rapid.SampledFrom([]string{"", "applied", "rejected"}).Draw(t, "outcomes"),
			Reason: rapid.SampledFrom([]string{"", "", "missing_user", "unpaid"}).Draw(t, "reasons"),
			User:   rapid.SampledFrom([]string{"", "u1"}).Draw(t, "users"), Payment: rapid.SampledFrom([]string{"", "p1"}).Draw(t, "payments"),
		}
		if rapid.Bool().Draw(t, "from") {
			f.From = receivedAt(int64(rapid.IntRange(-20, 120).Draw(t, "from minute")))
		}
		if rapid.Bool().Draw(t, "to") {
			f.To = receivedAt(int64(rapid.IntRange(-20, 120).Draw(t, "to minute")))
		}
		want := []string{}
		rows, err := s.Pool().Query(ctx, `select event_id from processed_event where ($1 = '' or event_type ~ ('^' || $1)) and ($2 = '' or outcome = $2)
			and ($3 = '' or user_id = $3) and ($4 = '' or provider_payment_id = $4) and ($5::timestamptz is null or received_at >= $5)
			and ($6::timestamptz is null or received_at < $6) and ($7 = '' or reason = $7) order by stream_seq desc`,
			f.Type, f.Outcome, f.User, f.Payment, orNil(f.From), orNil(f.To), f.Reason)
		require.NoError(t, err)
		defer rows.Close()
		for rows.Next() {
			var id string
			require.NoError(t, rows.Scan(&id))
			want = append(want, id)
		}
		require.NoError(t, rows.Err())
		limit, got := rapid.IntRange(1, 20).Draw(t, "limit"), []string{}
		for {
			page, err := Events(ctx, s, f, limit)
			require.NoError(t, err)
			require.True(t, page.Complete)
			got = append(got, ids(page.Items)...)
			if page.Next == nil {
				break
			}
			require.Len(t, page.Items, limit)
			f.Before = *page.Next
		}
		require.Equal(t, want, got)
	})
}

func orNil(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	return &at
}

func TestTablesOfARebuildWithoutIndexesAreNotBrowsed(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s := fixture.Candidate(ctx, t, live, 1)
	_, err := Events(ctx, s, Filter{}, 1)
	require.ErrorIs(t, err, ErrNotIndexed)
	require.ErrorContains(t, err, "portal_next")
}
