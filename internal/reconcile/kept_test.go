package reconcile_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func kept(ctx context.Context, t *testing.T, s *store.Store) (all []reconcile.Kept) {
	t.Helper()
	require.NoError(t, s.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		all, err = reconcile.AllKept(ctx, tx)
		return err
	}))
	return all
}

func TestTheSumsOfALaterComparisonReplaceThoseOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	s := newShop(t, "stripe")
	require.Empty(t, kept(s.ctx, t, s.tables))
	s.Has(s.Payment(1, 1200, s.now.Add(-5*aDay)), s.Payment(2, 700, s.now.Add(-5*aDay)), s.Payment(3, 50, s.now.Add(-time.Minute)))
	result := s.compare(t)
	require.Equal(t, 1, result.OnItsWay)
	require.NoError(t, reconcile.Keep(s.ctx, s.tables, result, s.now))
	one := kept(s.ctx, t, s.tables)
	require.Len(t, one, 1)
	require.Equal(t, "stripe", one[0].Provider)
	require.True(t, s.now.Equal(*one[0].ComparedAt))
	require.Equal(t, []reconcile.Found{{What: reconcile.MissingPayment, Currency: "EUR", Count: 2, Amount: 1900}}, one[0].Found,
		"what is on its way does not count")

	require.NoError(t, reconcile.Keep(s.ctx, s.tables, reconcile.Result{Provider: "stripe", Stranger: true}, s.now.Add(-time.Second)))
	require.Equal(t, one, kept(s.ctx, t, s.tables), "an earlier one that took longer")
	require.NoError(t, reconcile.Keep(s.ctx, s.tables, reconcile.Result{Provider: "creem"}, s.now))
	require.NoError(t, reconcile.Keep(s.ctx, s.tables, reconcile.Result{Provider: "stripe", Payments: 2}, s.now.Add(time.Second)))
	two := kept(s.ctx, t, s.tables)
	require.Len(t, two, 2)
	require.Equal(t, "creem", two[0].Provider)
	require.Empty(t, two[1].Found)
	require.EqualValues(t, 2, two[1].Objects)
}

func TestAFailureIsKeptBesideTheLastResult(t *testing.T) {
	t.Parallel()
	s := newShop(t, "stripe")
	at := func(minutes int) time.Time { return s.now.Add(time.Duration(minutes) * time.Minute) }
	fail := func(minutes int, why string) {
		require.NoError(t, reconcile.KeepFailure(s.ctx, s.tables, "stripe", at(minutes), errors.New(why)))
	}
	fail(0, "the key\x00 is \xff wrong "+strings.Repeat("ü", 1000))
	only := kept(s.ctx, t, s.tables)[0]
	require.Nil(t, only.ComparedAt)
	require.True(t, at(0).Equal(*only.FailedAt))
	require.True(t, strings.HasPrefix(only.Error, "the key is  wrong üü") && strings.HasSuffix(only.Error, "ü…"), only.Error)

	require.NoError(t, reconcile.Keep(s.ctx, s.tables, reconcile.Result{Provider: "stripe"}, at(1)))
	require.Nil(t, kept(s.ctx, t, s.tables)[0].FailedAt, "a later comparison was complete")
	fail(0, "earlier")
	require.Nil(t, kept(s.ctx, t, s.tables)[0].FailedAt)
	fail(3, "later")
	fail(2, "between")
	require.NoError(t, reconcile.Keep(s.ctx, s.tables, reconcile.Result{Provider: "stripe", Payments: 7}, at(2)))
	both := kept(s.ctx, t, s.tables)[0]
	require.Equal(t, "later", both.Error)
	require.EqualValues(t, 7, both.Objects)
	require.True(t, at(2).Equal(*both.ComparedAt))
}

func TestARoleThatOnlyReadsKeepsNothingAndSaysSo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	owner, portal := fixture.AsProjector(ctx, t)
	reader, err := store.Open(ctx, store.Config{DSN: strings.Replace(portal, "payfold_portal", "payfold_console", 1), Owner: "test"})
	require.NoError(t, err)
	t.Cleanup(reader.Close)
	require.ErrorIs(t, reconcile.Keep(ctx, reader, reconcile.Result{Provider: "stripe"}, time.Now()), reconcile.ErrNotKept)
	require.ErrorIs(t, reconcile.KeepFailure(ctx, reader, "stripe", time.Now(), errors.New("no")), reconcile.ErrNotKept)

	require.NoError(t, reconcile.Keep(ctx, owner, reconcile.Result{Provider: "stripe"}, time.Now()))
	require.Len(t, kept(ctx, t, reader), 1, "the console reads it")

	_, err = owner.Pool().Exec(ctx, "drop table payfold.reconciled")
	require.NoError(t, err)
	require.ErrorIs(t, reconcile.Keep(ctx, owner, reconcile.Result{Provider: "stripe"}, time.Now()), reconcile.ErrNotKept, "an older projector")
	require.Empty(t, kept(ctx, t, owner))
}
