package verify_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/world"
	"github.com/payfold/payfold/internal/verify"
)

func rulesOf(t *testing.T, products string) projections.Rules {
	t.Helper()
	c, err := catalogue.Parse([]byte("version: 1\nproducts:\n" + products))
	require.NoError(t, err)
	return projections.Rules{Mode: projections.ModeAny, Catalogue: c}
}

func buys(event, user, product string) string {
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","created_at":1767340000000,"object":{"provider_payment_id":"t_%s","product":%q,"metadata":{"user_id":%q}}}`,
		event, event, product, user)
}

const (
	inUse = "  pack: {kind: one_time, credits: 25}\n  monthly: {kind: one_time, credits: 10, valid_months: 1}\n  tool: {kind: pro}\n"
	next  = "  pack: {kind: one_time, credits: 20}\n  monthly: {kind: one_time, credits: 10, valid_months: 2}\n  big: {kind: one_time, credits: 100}\n  suite: {kind: pro}\n"
)

// setupShop returns a shop whose tables were folded under rules.
func setupShop(t *testing.T, rules projections.Rules) (context.Context, *world.World, *store.Store) {
	t.Helper()
	ctx, w := world.New(t)
	database := w.OpenAs(ctx, t, "p")
	stop := world.Run(ctx, t, live.New(w.Config(t, database, rules)), database)
	w.Log.Deliver(t,
		buys("e1", "ada", "pack"), buys("e2", "bob", "big"), buys("e3", "bob", "pack"), buys("e4", "cyd", "suite"), buys("e5", "dan", "tool"),
		buys("e6", "eve", "monthly"), buys("e7", "bob", "big"))
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())
	return ctx, w, w.Open(ctx, t, store.LiveSchema)
}

func preview(ctx context.Context, t *testing.T, w *world.World, tables *store.Store, rules projections.Rules) verify.Previewed {
	t.Helper()
	p := verify.Preview{Log: w.Log.Reader(t), Tables: tables, Rules: rules, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}}
	found, err := p.Run(ctx)
	require.NoError(t, err)
	return found
}

func TestAPreviewNamesWhatEachUserWouldHave(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, inUse)
	ctx, w, tables := setupShop(t, rules)
	found := preview(ctx, t, w, tables, rulesOf(t, next))
	var text bytes.Buffer
	require.NoError(t, report.Previewed(&text, found, 10, false))
	require.Equal(t, fmt.Sprintf(`bob: credits 25 → 220 (+195); newest event e7 at seq 7
ada: credits 25 → 20 (-5); newest event e1 at seq 1
cyd: gets licence suite; newest event e4 at seq 4
dan: loses licence tool; newest event e5 at seq 5
eve: the same credits, available or expired at other times; newest event e6 at seq 6
5 users and %d rows would change, up to seq 7.
1 user gains 195 credits, 1 user loses 5 credits, 1 user gets a licence, 1 user loses a licence.
`, found.Rows), text.String())

	text.Reset()
	require.NoError(t, report.Previewed(&text, found, 2, false))
	require.Contains(t, text.String(), "and 3 users more; --limit and --json show them\n")
	text.Reset()
	require.NoError(t, report.Previewed(&text, found, 2, true))
	require.Equal(t, 6, bytes.Count(text.Bytes(), []byte("\n")))
}

func TestAPreviewChangesNothingAndLeavesNothing(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, inUse)
	ctx, w, tables := setupShop(t, rules)
	killed, err := tables.OpenSchema(ctx, store.VerifySchema) // as a process that was killed leaves it
	require.NoError(t, err)
	t.Cleanup(killed.Close)
	info, err := w.Log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, killed.Prepare(ctx, info.LogID, info.Partitions, rules))
	rows := "select hashtextextended(string_agg(r::text, ',' order by r::text), 0) from (select p::text from portal.payment_facts p union all select s::text from payfold.schema_state s where schema_name = 'portal') r"
	before := w.Number(ctx, t, rows)

	require.False(t, preview(ctx, t, w, tables, rulesOf(t, next)).Nothing())
	require.Equal(t, before, w.Number(ctx, t, rows))
	require.Zero(t, w.Number(ctx, t, "select count(*) from pg_namespace where nspname = 'portal_verify'"))
	require.EqualValues(t, 1, w.Number(ctx, t, "select count(*) from payfold.schema_state"))

	found := preview(ctx, t, w, tables, rules)
	require.True(t, found.Nothing(), "%+v", found)
	require.EqualValues(t, 7, found.Position)
}

// A product of kind none grants nothing, but its purchases are not rejected any more.
func TestAPreviewOfOtherColumnsIsRefusedBeforeItsFold(t *testing.T) {
	t.Parallel()
	ctx, w, tables := setupShop(t, rulesOf(t, inUse))
	_, err := tables.Pool().Exec(ctx, "update payfold.schema_state set fold_id = 'rules 0, mode any' where schema_name = 'portal'")
	require.NoError(t, err)
	folded := func(_, _ uint64) { t.Error("it folds") }
	p := verify.Preview{Log: w.Log.Reader(t), Tables: tables, Rules: rulesOf(t, next), Logger: testenv.Logger(t), Progress: folded}
	_, err = p.Run(ctx)
	require.ErrorContains(t, err, `folded under "rules 0"`)
}

func TestAPreviewCountsRowsThatNoUserNotices(t *testing.T) {
	t.Parallel()
	ctx, w, tables := setupShop(t, rulesOf(t, inUse))
	found := preview(ctx, t, w, tables, rulesOf(t, inUse+"  big: {kind: none}\n"))
	require.Empty(t, found.Changes)
	require.False(t, found.Nothing())
	require.Positive(t, found.Rows)
}
