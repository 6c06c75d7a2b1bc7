package browse

import "github.com/payfold/payfold/internal/projections"

// CompleteIt ends the advice about purchases that were rejected. It is the same for many reasons. Commands are between
// backquotes.
const (
	CompleteIt = " For a buyer who waits, find the payment in the provider's dashboard, then:" +
		" `ingest complete PAYMENT --user USER --product PRODUCT --reason 'WHY'`. PAYMENT is its transaction; if it has only an order, name that and add `--order`." +
		" A purchase that granted nothing has its own command." +
		" Without a catalogue, send an event of the type payment with kind and credits: `ingest send --provider payfold FILE`."
	sendReversal = "It has taken nothing back. Look at the refund or dispute in the provider's dashboard." +
		" To take back the whole payment: `ingest take --user USER --payment PAYMENT --all --reason 'WHY'`. PAYMENT is its transaction; if it has only an order, name that and add `--order`." +
		" For a part of it, send an event of the type reversal with the amount: `ingest send --provider payfold FILE`."
	thenRebuild = ", then: `projector rebuild --promote`. The old events count then."
)

// adviceByReason says what to do about the rejected events of a reason.
var adviceByReason = map[projections.Reason]string{
	projections.InvalidText: "Look at the body of one of the events, and repair what writes the text: usually the metadata of the checkout." + CompleteIt,
	projections.WrongMode: "Usually nothing: they are test events that came to the live shop, or the other way round. The provider has an address for each mode." +
		" If they should count, set PROVIDER_MODE" + thenRebuild,
	projections.UnknownKind: "Put the product into the catalogue" + thenRebuild + " Without a catalogue, put kind into the metadata of the checkout." + CompleteIt,
	projections.MissingUser: "Look up the payment in the provider's dashboard and find your user. Repair the checkout so that its metadata has user_id, or there will be more." +
		" Do not guess the user: the first one keeps the payment." + CompleteIt,
	projections.MissingPaymentID: "Look at the body of one of the events, and whether the provider has a payment for it. If there is none, nothing is to be done." + CompleteIt,
	projections.UnknownProduct: "Put the product into the catalogue under the provider's id, which each event's page names" + thenRebuild +
		" What the shop sells and what grants nothing, such as a donation, gets `{kind: none}`.",
	projections.KindMismatch: "Compare the kind in the metadata with that of the product in the catalogue. If the catalogue is wrong, correct it" + thenRebuild +
		" If the checkout is wrong, repair it. If a buyer has edited the metadata, nothing is to be done." + CompleteIt,
	projections.MissingCredits: "Put the product with its credits into the catalogue" + thenRebuild + " Without a catalogue, put credits into the metadata of the checkout." + CompleteIt,
	projections.OutOfRange:     "Look at credits, units and amounts in the body of one of the events. Repair the checkout or the catalogue." + CompleteIt,
	projections.PaymentConflict: "Look at the payment: it shows who has it. If somebody paid twice, or for somebody else, refund it at the provider or give the other buyer what is due by hand:" +
		" payfold moves no payment from one user to another.",
	projections.Internal: "Read the error of the database, under the quarantined events. Undo what somebody changed in the database: a constraint, a trigger, rights." +
		" Then try each event again: `projector quarantine retry SEQ`. If nobody changed anything, report it: it is a fault of payfold.",
}

// advice says what to do about the rejected events of a reason. reverses: they are reversals.
func advice(reason string, reverses bool) string {
	text, known := adviceByReason[projections.Reason(reason)]
	switch {
	case reverses:
		return sendReversal
	case known:
		return text
	}
	return "Another build of payfold gave this reason. Its documentation says what to do."
}
