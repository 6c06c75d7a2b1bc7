package report

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
)

func TestEveryReasonIsExplained(t *testing.T) {
	t.Parallel()
	all := []projections.Reason{
		projections.InvalidText, projections.WrongMode, projections.UnknownKind, projections.MissingUser,
		projections.MissingPaymentID, projections.UnknownProduct, projections.KindMismatch, projections.MissingCredits,
		projections.OutOfRange, projections.PaymentConflict, projections.Internal,
	}
	require.Len(t, reasons, len(all))
	for _, reason := range all {
		require.NotEmpty(t, reasons[reason], reason)
		require.Equal(t, reasons[reason]+" It changed nothing.", rejection(string(reason), false))
	}
	require.Contains(t, rejection("a_new_one", true), "a_new_one")
}

func TestWhatTheRowsDoNotProveIsNotSaid(t *testing.T) {
	t.Parallel()
	amount, paid := int64(100), int64(101)
	payment := func(p projections.Payment) Around {
		p.ProviderPaymentID = "p1"
		return Around{Payments: map[string]projections.Payment{"p1": p}}
	}
	reversal := func(p projections.Payment, r projections.Reversal, wrote int64) Around {
		around := payment(p)
		around.Reversals, around.Wrote = map[string]projections.Reversal{"e1": r}, map[string]int64{"e1": wrote}
		return around
	}
	claimed := projections.Payment{UserID: "u1", Kind: projections.KindPro}
	for want, c := range map[string]struct {
		e      projections.ProcessedEvent
		around Around
	}{
		"It set the subscription's state and claimed no payment: the subscription.paid that follows it does.": {
			projections.ProcessedEvent{EventType: "checkout.completed", Kind: projections.KindSubscription, Outcome: "applied"}, Around{},
		},
		"It set the subscription's state. Its payment waits, unclaimed, until an event says whose the subscription is.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Outcome: "applied"}, payment(projections.Payment{EventID: "e1"}),
		},
		"It set the subscription's state. Its payment waited for its user, until e2 (seq 2) claimed it.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Outcome: "applied"},
			payment(projections.Payment{EventID: "e2", StreamSeq: 2, UserID: "u1"}),
		},
		"It set the subscription to the status it brought.": {
			projections.ProcessedEvent{EventType: "subscription.update", Outcome: "applied"}, Around{},
		},
		"e2 (seq 2) had claimed its payment before, without saying its credits. Anything the payment lacked was filled in from it. It granted 7 credits.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Outcome: "duplicate_payment"},
			reversal(projections.Payment{EventID: "e2", StreamSeq: 2, UserID: "u1"}, projections.Reversal{}, 7),
		},
		"Its subscription knew of something newer already, so its status and period stay as they are. Only what was empty was filled in. It granted 7 credits.": {
			projections.ProcessedEvent{EventType: "subscription.paid", Outcome: "stale"}, reversal(projections.Payment{}, projections.Reversal{}, 7),
		},
		"The refund takes back 100 of 101 paid. The licence stays, for it is not all of the payment.": {
			projections.ProcessedEvent{EventType: "refund.created", Outcome: "applied"},
			reversal(claimed, projections.Reversal{Cause: "refund", Amount: &amount, Paid: &paid}, 0),
		},
		"The chargeback brings what is taken back of the payment to 100 in all. It took back 1 credit.": {
			projections.ProcessedEvent{EventType: "dispute.created", Outcome: "applied"},
			reversal(claimed, projections.Reversal{Cause: "chargeback", Amount: &amount, Cumulative: true}, -1),
		},
		"The refund takes back 100. It took back no credits: there were none, or they had been taken back already.": {
			projections.ProcessedEvent{EventType: "refund.created", Outcome: "applied"},
			reversal(projections.Payment{UserID: "u1", Kind: projections.KindOneTime}, projections.Reversal{Cause: "refund", Amount: &amount}, 0),
		},
		"Events of this type tell of subscriptions; this one is of kind pro.": {
			projections.ProcessedEvent{EventType: "subscription.active", Kind: projections.KindPro, Outcome: "ignored"}, Around{},
		},
	} {
		c.e.EventID, c.e.ProviderPaymentID = "e1", "p1"
		require.Equal(t, want, why(c.e, c.around))
	}
}

func TestNothingATerminalActsOnIsWrittenRaw(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "": "-", "-": `"-"`, "a b": `"a b"`, "ü": "ü", "日本": "日本",
		"\x1b[31m": `"\x1b[31m"`, "a\tb\nc": `"a\tb\nc"`, "\x7f": `"\x7f"`, "\u009b": `"\u009b"`,
		"\u202egpj": `"\u202egpj"`, "\u200b": `"\u200b"`, "\xff": `"\xff"`, `a"b`: `"a\"b"`, `a\x1b`: `"a\\x1b"`,
	} {
		require.Equal(t, want, name(text))
	}
	require.Equal(t, `one\ntwo \x1b[0m \xff \u202e ü`, Clean("one\ntwo \x1b[0m \xff \u202e ü"))
	object, err := encodeJSON(map[string]string{"k": "\x1b \x7f \u009b \u202e \U000e0001 ü <&>"})
	require.NoError(t, err)
	require.Equal(t, `{"k":"\u001b \u007f \u009b \u202e \udb40\udc01 ü <&>"}`+"\n", string(object))
}

func TestACorrectionIsExplained(t *testing.T) {
	t.Parallel()
	e := projections.ProcessedEvent{EventID: "e3", EventType: "checkout.completed", Outcome: "duplicate_payment", ProviderPaymentID: "t1"}
	text := why(e, Around{Corrected: map[string]Correction{"e3": {Undone: 200, GivenBack: 1}}})
	require.Contains(t, text, "a correction took back 200 credits granted too much")
	require.Contains(t, text, "a correction gave back 1 credit.")
}
