package explain

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

// sentences returns the sentences about each event of a history.
func sentences(t *testing.T, bodies ...string) []string {
	t.Helper()
	ctx, shop := fixture.NewFolded(t, unbounded, bodies...)
	return sentencesOf(ctx, t, shop.Tables, len(bodies))
}

// sentencesOf returns the sentences about each event of tables that have that many events.
func sentencesOf(ctx context.Context, t *testing.T, s *store.Store, events int) (all []string) {
	t.Helper()
	for seq := range uint64(events) {
		rows, err := viewEvent(ctx, s, withMessage, int64(seq+1), unbounded)
		require.NoError(t, err)
		all = append(all, rows.Event.Why)
	}
	return all
}

func TestAPaymentThatComesAfterTheCancellationDoesNotSetTheSubscriptionToActive(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"It set the subscription to canceled.",
		"It claimed payment t1 for user u1. The status of the subscription stayed as e1 (seq 1) had set it. It granted 5 credits.",
	}, sentences(t,
		`{"id":"e1","eventType":"subscription.canceled","created_at":1614600010000,"object":{"subscription":"s1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"subscription","user_id":"u1","credits":5}}}`,
	))
}

// The checkout does not name the subscription; the cancellation named the payment. A list may have only the checkout.
func TestAPaymentOfACanceledSubscriptionDoesNotSetItToActive(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"subscription.canceled","created_at":1614600010000,"object":{"subscription":"s1","last_transaction_id":"t1"}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1614600005000,"object":{"transaction":"t1","metadata":{"kind":"subscription","user_id":"u1"}}}`)
	rows, err := viewEvent(ctx, shop.Tables, withMessage, int64(2), unbounded)
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(ctx, shop.Tables.Pool(), func(tx pgx.Tx) error {
		list, err := Events(ctx, tx, []projections.ProcessedEvent{rows.Event.ProcessedEvent})
		require.Equal(t, "It claimed payment t1 for user u1. The status of the subscription stayed as e1 (seq 1) had set it.", list[0].Why)
		return err
	}))
}

func TestAPaymentWithoutAUserThatComesAfterTheCancellationSetsNothing(t *testing.T) {
	t.Parallel()
	require.Equal(t, "The status of the subscription stayed as e1 (seq 1) had set it. Its payment is not claimed until an event names the user of the subscription.", sentences(t,
		`{"id":"e1","eventType":"subscription.canceled","created_at":1614600010000,"object":{"subscription":"s1"}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1"}}`,
	)[1])
}

func TestALicenceThatIsRefundedBeforeItIsPaidWasNotGiven(t *testing.T) {
	t.Parallel()
	require.Equal(t, "It claimed payment t1 for user u1. The whole payment was taken back, so it gives no licence.", sentences(t,
		`{"id":"e1","eventType":"refund.created","object":{"transaction":"t1"}}`,
		fixture.Pro("e2", "t1", "u1", "octo"),
	)[1])
}

// The status event names the subscription of the payment. The payment is newer, and sets the status.
func TestAnEventThatNamesTheSubscriptionOfANewerPaymentIsNotOlderThanItself(t *testing.T) {
	t.Parallel()
	require.Equal(t, "By the provider's time (2021-03-01 12:00:05Z) it is older than a payment of its subscription (2021-03-01 12:00:10Z), which set status and period."+
		" It only filled in what was empty.", sentences(t,
		`{"id":"e1","eventType":"checkout.completed","created_at":1614600010000,"object":{"transaction":"t1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.past_due","created_at":1614600005000,"object":{"subscription":"s1","last_transaction_id":"t1"}}`,
	)[1])
}

func TestAnIgnoredEventThatMakesAPaymentALicenceExplainsItsCorrection(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Events of this type are about subscriptions; this one is of kind pro. It showed that earlier grants were wrong, so a correction took back 5 credits.", sentences(t,
		`{"id":"e1","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"user_id":"u1","credits":5}}}`,
		`{"id":"e2","eventType":"subscription.active","object":{"subscription":"s1","metadata":{"kind":"pro"}}}`,
	)[1])
}

func TestAnOlderEventThatBringsTheUserDoesNotSetTheStatus(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{
		"Its user was not known then. A later event of the subscription claimed payment t1 for user u1. It set the subscription to active. It granted 5 credits.",
		"The status of the subscription stayed as e1 (seq 1) had set it.",
	}, sentences(t,
		`{"id":"e1","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"subscription","credits":5}}}`,
		`{"id":"e2","eventType":"subscription.trialing","created_at":1614600001000,"object":{"subscription":"s1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
	))
}

func TestACheckoutThatComesAfterThePaymentPromisesNoFurtherEvent(t *testing.T) {
	t.Parallel()
	require.Equal(t, "It set the subscription's state. It claimed no payment itself; another event says that the payment arrived.", sentences(t,
		`{"id":"e1","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"subscription","credits":5}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1614600006000,"object":{"subscription":"s1","order":"o1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
	)[1])
}

func TestACheckoutThatBringsTheUserAfterTheCancellationDoesNotSetTheSubscription(t *testing.T) {
	t.Parallel()
	require.Equal(t, "The status of the subscription stayed as e1 (seq 1) had set it. It claimed no payment itself; another event says that the payment arrived.", sentences(t,
		`{"id":"e1","eventType":"subscription.canceled","created_at":1614600010000,"object":{"subscription":"s1"}}`,
		`{"id":"e2","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1"}}`,
		`{"id":"e3","eventType":"checkout.completed","created_at":1614600004000,"object":{"subscription":"s1","order":"o1","metadata":{"kind":"subscription","user_id":"u1"}}}`,
	)[2])
}

// The checkout makes the payment a pack without credits, which nobody has claimed.
func TestAPaymentThatIsClaimedASecondTimeHadAKnownUser(t *testing.T) {
	t.Parallel()
	require.Equal(t, "It set the subscription's state. Its payment is claimed by e3 (seq 3).", sentences(t,
		`{"id":"e1","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"checkout.completed","created_at":1614600001000,"object":{"subscription":"s1","order":"o1","metadata":{"kind":"one_time","user_id":"u1"}}}`,
		`{"id":"e3","eventType":"subscription.paid","created_at":1614600005000,"object":{"subscription":"s1","transaction":"t1","metadata":{"user_id":"u1","credits":9}}}`,
	)[0])
}

func TestARefundOfLessThanOneCreditSaysWhyItTakesNothing(t *testing.T) {
	t.Parallel()
	require.Equal(t, "The refund takes back 50 of 1000 paid. It took back no credits: there were none, they had been taken back already, or its share is less than one credit.", sentences(t,
		fixture.Pack("e1", "t1", "u1", 10),
		`{"id":"e2","eventType":"refund.created","object":{"refund_amount":50,"transaction":{"id":"t1","amount_paid":1000}}}`,
	)[1])
}

func TestARejectedEventThatJoinsTwoPaymentsSaysWhatThatChanged(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]struct {
		says   string
		bodies []string
	}{
		"both had granted": {"It showed that earlier grants were wrong, so a correction took back 100 credits.", []string{
			fixture.Pack("e1", "t1", "u1", 100),
			`{"id":"e2","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","user_id":"u1","credits":100}}}`,
		}},
		"neither had granted": {"It granted 100 credits.", []string{
			`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"user_id":"u1"}}}`,
			`{"id":"e2","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"one_time","credits":100}}}`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			said := sentences(t, append(want.bodies,
				`{"id":"e3","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u1","credits":"many"}}}`)...)[2]
			require.Contains(t, said, "But what it says of the names of its payment, and of its subscription, counts. "+want.says)
			require.NotContains(t, said, "changed nothing")
		})
	}
}

func TestAPaymentOfTwoUsersSaysWhoLostIt(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Payments o1 and t1 turned out to be one, which e1 (seq 1) claimed for user u1. User u2 has no credits and no licence from it.", sentences(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"pro","user_id":"u1"}}}`,
		fixture.Pro("e2", "t1", "u2", "octo"),
		`{"id":"e3","eventType":"refund.created","object":{"order":"o1","transaction":"t1","refund_amount":0}}`,
	)[1])
}

func TestAnUnknownKindIsNamed(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Its metadata says that the kind is credits, but the kinds are subscription, one_time and pro. It claimed and granted nothing.", sentences(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"credits","user_id":"u1","credits":7}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"one_time","user_id":"u2","credits":100}}}`,
	)[0])
}

// The provider's product ranks higher than that of the metadata, also if it came with an event that was rejected.
func TestAClaimOfAnotherKindThanThePaymentGaveNoLicence(t *testing.T) {
	t.Parallel()
	_, state := fixture.OneFold(t, fixture.Sold, []string{
		`{"id":"e1","eventType":"checkout.completed","object":{"product":"pack","transaction":"t1"}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"key":"licence","user_id":"u1"}}}`,
	})
	claim := state.Events.Inserted()[1]
	require.Equal(t, projections.KindPro, claim.Kind)
	payment, _ := state.Payments.Get("t1")
	require.Equal(t, projections.KindOneTime, payment.Kind)
	_, licensed := state.Licenses.Get("u1")
	require.False(t, licensed)
	related := related{Payments: map[string]projections.Payment{"t1": payment}, Wrote: map[string]int64{"e2": 25}}
	require.Equal(t, "It claimed payment t1 for user u1. Another event decided that the payment is of kind one_time. It granted 25 credits.", why(claim, related))
}

func TestARejectedEventWithANumberOutOfRangeDoesNotCountLater(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":{"transaction":"t1","amount_paid":700},"metadata":{"kind":"one_time","credits":"many"}}}`,
		`{"id":"e2","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`,
	)
	rows, err := viewEvent(ctx, shop.Tables, withMessage, int64(1), unbounded)
	require.NoError(t, err)
	require.Equal(t, "missing_user", rows.Event.Reason)
	require.Nil(t, rows.Payment.Amount)
	require.Equal(t, "Nothing says who bought it: the checkout's metadata needs a user_id. It claimed and granted nothing. "+
		"e2 (seq 2) claimed the payment for user u1. What this event says of it counts, unless a number in it is out of range.", rows.Event.Why)
}

func TestARejectedEventThatIsTheClaimAfterAllSaysSo(t *testing.T) {
	t.Parallel()
	require.Equal(t, "Nothing says what was sold: the checkout's metadata needs a kind (subscription, one_time or pro), or the catalogue needs the product."+
		" A later event brought what it lacked. Then its payment was claimed for user u1. It granted 20 credits.", sentences(t,
		`{"id":"e1","eventType":"checkout.completed","object":{"transaction":"t1","metadata":{"user_id":"u1","credits":20}}}`,
		`{"id":"e2","eventType":"subscription.active","object":{"subscription":"s1","last_transaction_id":"t1"}}`,
	)[0])
}

// The rejected event says that the order is that of the payment, so the refund of the order takes the licence.
func TestARejectedEventThatNamesAnOrderDoesNotSayThatItChangedNothing(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		fixture.Pro("e1", "t1", "u1", "octo"),
		`{"id":"e2","eventType":"refund.created","object":{"order":"o1"}}`,
		`{"id":"e3","eventType":"checkout.completed","object":{"order":{"id":"o1","transaction":"t1"},"metadata":{"kind":"pro","user_id":"u2"}}}`,
	)
	user, err := ReadUser(ctx, shop.Tables, "u1", 0, unbounded)
	require.NoError(t, err)
	require.Equal(t, "revoked", user.License.Status)
	require.Equal(t, "Its payment had been claimed before, for another user or as another kind of purchase. The first claim stays."+
		" It claimed and granted nothing. (e1 claimed it for user u1, as pro.)", sentencesOf(ctx, t, shop.Tables, 3)[2])
}

func TestARejectedKindConflictCanChangeTheOtherPaymentsOfItsSubscription(t *testing.T) {
	t.Parallel()
	for credits, want := range map[string]string{
		`,"credits":5`: "counts. It showed that earlier grants were wrong, so a correction took back 5 credits.",
		"":             "The first claim stays. It claimed and granted nothing.",
	} {
		ctx, shop := fixture.NewFolded(t, unbounded,
			`{"id":"e1","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"one_time","user_id":"u1","credits":5}}}`,
			`{"id":"e2","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t2","metadata":{"user_id":"u1"`+credits+`}}}`,
			`{"id":"e3","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"kind":"pro","user_id":"u1"}}}`)
		rows, err := viewEvent(ctx, shop.Tables, withMessage, int64(3), unbounded)
		require.NoError(t, err)
		require.Equal(t, "payment_conflict", rows.Event.Reason)
		require.Contains(t, rows.Event.Why, want)
		user, err := ReadUser(ctx, shop.Tables, "u1", 0, unbounded)
		require.NoError(t, err)
		require.Equal(t, "t2", user.License.ProviderPaymentID)
	}
}

// Its only payment turned out to be another user's.
func TestAnImplicitSubscriptionWithoutPaymentsSaysWhyItIsNotShown(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"subscription.paid","object":{"order":"o1","metadata":{"user_id":"u2"}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"transaction":"t1","metadata":{"user_id":"u1"}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"order":"o1","transaction":"t1","refund_amount":0}}`)
	user, err := ReadUser(ctx, shop.Tables, "u1", 0, unbounded)
	require.NoError(t, err)
	require.Equal(t, "no: no payment belongs to it any more", isShown(user.Subscriptions.Items[0], user.Shown))
}

// The subscription that the payment names stays active for its user.
func TestAPaymentOfTwoUsersDoesNotSayThatASubscriptionWasTakenBack(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, unbounded,
		`{"id":"e1","eventType":"checkout.completed","object":{"order":"o1","metadata":{"kind":"one_time","credits":7,"user_id":"u1"}}}`,
		`{"id":"e2","eventType":"subscription.paid","object":{"subscription":"s1","transaction":"t1","metadata":{"user_id":"u2"}}}`,
		`{"id":"e3","eventType":"refund.created","object":{"order":"o1","transaction":"t1","refund_amount":0}}`)
	user, err := ReadUser(ctx, shop.Tables, "u2", 0, unbounded)
	require.NoError(t, err)
	require.Equal(t, "active", user.Shown.Status)
	require.NotContains(t, sentencesOf(ctx, t, shop.Tables, 3)[1], "taken back")
}
