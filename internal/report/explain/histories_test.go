package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/payfold/payfold/internal/live"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// sentences returns the sentences about each event of a log.
func sentences(t *testing.T, bodies ...string) []string {
	t.Helper()
	return sentencesUnder(t, fixture.AnyMode, bodies)
}

// sentencesUnder returns the sentences about each event of a log under these rules.
func sentencesUnder(t *testing.T, rules projections.Rules, bodies []string) (all []string) {
	t.Helper()
	_, state := fixture.OneFold(t, rules, bodies)
	rows := relatedOf(state)
	for _, e := range state.Events.Inserted() {
		all = append(all, why(e, rows))
	}
	return all
}

// The tables give the same sentences as the rows in memory.
func TestTheSentencesOfTablesAreThoseOfTheirRows(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	rapid.Check(t, func(r *rapid.T) {
		rules := rapid.SampledFrom([]projections.Rules{fixture.AnyMode, fixture.Sold}).Draw(r, "rules")
		bodies := fixture.Bodies(r)
		log, state := fixture.OneFold(t, rules, bodies)
		fixture.Reset(ctx, t, s, rules)
		_, err := live.Apply(ctx, s, rules, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
		require.NoError(r, err)
		require.NoError(r, pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
			list := state.Events.Inserted()
			explained, err := Explained(ctx, tx, list)
			require.NoError(r, err)
			rows := relatedOf(state)
			for i, e := range explained {
				require.Equal(r, why(list[i], rows), e.Why, e.EventID)
				require.NotEmpty(r, e.Why)
				require.NotContains(r, e.Why, "  ")
				require.NotRegexp(r, `(^| )(-|s1-)( |[.,])`, e.Why, "no name is missing")
			}
			return nil
		}))
	})
}

// Of the payments of one period, each says what the earlier ones granted, and a refund what that changes for the others.
func TestThePaymentsOfAPeriodAreReadFromTheTables(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	pays := func(event, payment string, credits int) string {
		return fmt.Sprintf(`{"id":%q,"eventType":"subscription.paid","object":{"id":"s1","last_transaction_id":%q,
			"current_period_start_date":"2026-01-01T00:00:00Z","current_period_end_date":"2026-02-01T00:00:00Z",
			"metadata":{"user_id":"u1","kind":"subscription","credits":%d}}}`, event, payment, credits)
	}
	log, state := fixture.OneFold(t, fixture.AnyMode, []string{
		pays("e1", "t1", 100), pays("e2", "t2", 300), pays("e3", "t3", 200),
		`{"id":"e4","eventType":"refund.created","object":{"id":"r1","transaction":"t1"}}`,
	})
	fixture.Reset(ctx, t, s, fixture.AnyMode)
	_, err := live.Apply(ctx, s, fixture.AnyMode, log, store.Advance{LogID: "log-1", From: fixture.From(0, 0), To: uint64(len(log))})
	require.NoError(t, err)
	var said []string
	require.NoError(t, pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		explained, err := Explained(ctx, tx, state.Events.Inserted())
		for _, e := range explained {
			said = append(said, e.Why)
		}
		return err
	}))
	require.Contains(t, said[2], "Before this one the period had the credits of t2, so this one grants nothing.")
	require.Contains(t, said[3], "It took back 100 credits. The other payments of its period grant 100 credits more")
	rows := relatedOf(state)
	for i, e := range state.Events.Inserted() {
		require.Equal(t, why(e, rows), said[i], e.EventID)
	}
}

func TestAPaymentWithoutAUserThatComesAfterTheCancellationSetsNothing(t *testing.T) {
	t.Parallel()
	require.Equal(t, "It says that payment t1 arrived. The payment grants nothing yet: no event names its user.", sentences(t,
		`{"id":"e1","eventType":"subscription.canceled","created_at":1614600010000,"object":{"subscription":"s1"}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1"}}`,
	)[1])
}

// The status event names the subscription of the payment. The payment is newer, and sets the status.
func TestAnEventThatNamesTheSubscriptionOfANewerPaymentIsNotOlderThanItself(t *testing.T) {
	t.Parallel()
	require.Equal(t, "It says that the subscription is past due. By the provider's time e1 (2021-03-01 12:00:10Z) is newer, and says active.", sentences(t,
		`{"id":"e1","eventType":"checkout.completed","created_at":1614600010000,"object":{"transaction":"t1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.past_due","created_at":1614600005000,"object":{"subscription":"s1","last_transaction_id":"t1"}}`,
	)[1])
}

func TestACheckoutThatBringsTheUserAfterTheCancellationDoesNotSetTheSubscription(t *testing.T) {
	t.Parallel()
	require.Equal(t, "It is a checkout of the subscription. The payments of the subscription are other events. Payment t1 waited for the name of its user. This event names user u1, so the payment counts."+
		" It says that the subscription is active. By the provider's time e1 (2021-03-01 12:00:10Z) is newer, and says canceled.", sentences(t,
		`{"id":"e1","eventType":"subscription.canceled","created_at":1614600010000,"object":{"subscription":"s1"}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1"}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1614600004000,"object":{"subscription":"s1","order":"o1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
	)[2])
}

func TestARejectedEventThatJoinsTwoPaymentsSaysWhatThatChanged(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		says   string
		bodies []string
	}{
		"both had granted": {"But what it says of the names of its payment, and of its subscription, counts. It changed what payments grant, so a correction took back 100 credits.", []string{
			fixture.Pack("e1", "t1", "u1", 100),
			`{"id":"e2","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		}},
		"neither had granted": {"It granted nothing itself.", []string{
			`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"user_id":"u1"}}}`,
			`{"id":"e2","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"one_time","credits":100}}}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := sentences(t, append(want.bodies,
				`{"id":"e3","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":"many"}}}`)...)[2]
			require.Contains(t, said, want.says)
			require.NotContains(t, said, "changed nothing")
		})
	}
}

func TestARejectedEventThatIsTheClaimAfterAllSaysSo(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product."+
		" Other events brought what was missing: payment t1 is of user u1, and what this event says of the payment counts. It granted 20 credits.", sentences(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"user_id":"u1","credits":20}}}`,
		`{"id":"e2","eventType":"subscription.active","object":{"subscription":"s1","last_transaction_id":"t1"}}`,
	)[0])
}

func TestARejectedKindConflictCanChangeTheOtherPaymentsOfItsSubscription(t *testing.T) {
	t.Parallel()
	for credits, want := range map[string]string{
		`,"credits":5`: "It changed what payments grant, so a correction took back 5 credits.",
		"":             "This event granted nothing.",
	} {
		ctx, shop := fixture.NewFolded(t, unbounded,
			`{"id":"e1","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`,
			`{"id":"e2","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t2","metadata":{"user_id":"u1"`+credits+`}}}`,
			`{"id":"e3","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"pro","user_id":"u1"}}}`)
		rows, err := viewEvent(ctx, shop.Tables, withMessage, int64(3), unbounded)
		require.NoError(t, err)
		require.Equal(t, "payment_conflict", rows.Event.Reason)
		require.Contains(t, rows.Event.Why, want)
		user, err := ReadUser(ctx, shop.Tables, "u1", Place{}, unbounded)
		require.NoError(t, err)
		require.Equal(t, "t2", user.License.ProviderPaymentID)
	}
}

func TestAPaymentOfTwoUsersSaysWhoHasIt(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"It says that payment t1 of user u1 arrived. It gave a licence.",
		"It names user u2. By the provider's time e1 (2026-01-02 10:00:00Z) was first, and names user u1: payment t1 is of that user.",
		"The refund takes back 0 minor units (unknown currency). The licence stays, because a part of the payment is kept.",
	}, sentences(t,
		`{"id":"e1","eventType":"checkout.completed","created_at":1767348000000,"object":{"order":"o1","metadata":{"kind":"pro","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1767348060000,"object":{"transaction":"t1","metadata":{"kind":"pro","user_id":"u2"}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"order":"o1","transaction":"t1","refund_amount":0}}`,
	))
}

// The page of the conflict is of u2, and the subscription of u1.
func TestTheSubscriptionOfAnotherUserIsShownToThatUser(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"subscription.paid","created_at":1614600001000,"object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1614600002000,"object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"subscription","user_id":"u2"}}}`)
	rows, err := ReadEvent(ctx, shop.Log, shop.Tables, "e2", unbounded)
	require.NoError(t, err)
	require.Equal(t, "payment_conflict", rows.Event.Reason)
	require.Equal(t, "yes", isShown(*rows.Subscription, rows.Shown))
}

func TestARevokedLicenceNamesTheEventThatEndedIt(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded, fixture.Pro("e1", "t1", "u1", "octo"),
		`{"id":"e2","eventType":"refund.created","object":{"transaction":"t1"}}`)
	user, err := ReadUser(ctx, shop.Tables, "u1", Place{}, unbounded)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, user.Write(&text, false))
	require.Regexp(t, `LICENCE of user u1: revoked\n(.*\n)+ +event +e2\n`, text.String())
}

func TestJSONHasTheColumnsThatPeopleRead(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded, fixture.Month()...)
	for view, one := range map[string]any{"payment": projections.Payment{}, "subscription_state": projections.SubscriptionState{}, "credit_ledger": projections.LedgerLine{}} {
		var columns []string
		require.NoError(t, shop.Tables.Pool().QueryRow(ctx,
			"select array_agg(column_name::text) from information_schema.columns where table_schema = 'portal' and table_name = $1", view).Scan(&columns))
		object, err := page.Marshal(one)
		require.NoError(t, err)
		var fields map[string]any
		require.NoError(t, json.Unmarshal(object, &fields))
		require.ElementsMatch(t, columns, slices.Collect(maps.Keys(fields)), view)
	}
}
