package explain

import (
	"fmt"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// reversed explains a refund or chargeback that counts, or has counted.
func (y story) reversed() string {
	r, p := y.rows.Reversals[y.event.EventID], y.payment
	text := reversalWord(r) + amountWords(r, p.Currency)
	if r.Status != string(events.Succeeded) {
		text = fmt.Sprintf("%s is reported as %s now, so what it had taken back is given back.", reversalWord(r), page.Words(r.Status))
		if n := y.rows.Corrected[r.EventID].GivenBack; n > 0 {
			return fmt.Sprintf("%s is reported as %s now, so a correction gave back %s.", reversalWord(r), page.Words(r.Status), page.Count(n, "credit"))
		}
	}
	lines := y.granted()
	switch decides := y.rows.Decides[r.EventID]; {
	case r.Status == string(events.Succeeded) && decides.EventID != "" && decides.Status != r.Status:
		return text + lines + fmt.Sprintf(" By the provider's time %s (%s) is newer, and says %s: so it takes nothing back now.",
			page.Name(decides.EventID), at(decides.OccurredAt), page.Words(decides.Status))
	case lines != "":
		return text + lines + y.withoutLicence()
	case r.Status != string(events.Succeeded):
		return text
	case !p.Paid:
		return text + " No event says yet that its payment arrived. " + reversalWord(r) + " takes effect when one does."
	case p.UserID == "":
		return text + " Its payment grants nothing yet. " + reversalWord(r) + " takes effect when it does."
	case p.Kind == projections.KindPro:
		return text + y.withoutLicence()
	case r.Amount != nil || r.Credits != nil:
		return text + " It took back no credits: there were none, they had been taken back already, or its share is less than one credit."
	}
	return text + " It took back no credits: there were none, or they had been taken back already."
}

// withoutLicence says what the reversal means for the licence of its payment.
func (y story) withoutLicence() string {
	p := y.payment
	switch {
	case p.Kind != projections.KindPro || p.UserID == "":
		return ""
	case p.ReversedBy == y.event.EventID:
		return " With it nothing of the payment is left, so the payment does not give a licence any more."
	case !p.ReversedAt.IsZero():
		return " The payment does not give a licence any more."
	}
	return " The licence stays, because a part of the payment is kept."
}

// ignoredReversal explains a refund or chargeback that takes nothing back.
func (y story) ignoredReversal(r projections.Reversal) string {
	decides := y.rows.Decides[r.EventID]
	if decides.EventID == "" || decides.EventID == r.EventID || decides.Status == r.Status {
		return fmt.Sprintf("The provider reports it as %s, so nothing is taken back.", page.Words(r.Status))
	}
	return fmt.Sprintf("The provider reports it as %s here. By the provider's time %s (%s) is newer, and says %s: so nothing is taken back.",
		page.Words(r.Status), page.Name(decides.EventID), at(decides.OccurredAt), page.Words(decides.Status))
}

func reversalWord(r projections.Reversal) string {
	if r.Cause == string(events.Chargeback) {
		return "The chargeback"
	}
	return "The refund"
}

func amountWords(r projections.Reversal, currency string) string {
	switch {
	case r.Credits != nil && r.Amount != nil:
		return fmt.Sprintf(" takes back %s%s, such as a tax, and nothing of what was sold.",
			page.Money(*r.Amount, currency), ofPaid(r.Paid, currency))
	case r.Credits != nil:
		return fmt.Sprintf(" takes back %s, and no money.", page.Count(*r.Credits, "credit"))
	case r.Amount == nil && r.Total == nil:
		return " is of the whole payment."
	case r.Total == nil && r.InOtherCurrency(currency):
		return fmt.Sprintf(" is of %s, which is another currency than that of the payment. So it takes back the whole payment.", page.Money(*r.Amount, r.Currency))
	case r.Total != nil:
		return fmt.Sprintf(" says that the total taken back is %s%s.", page.Money(*r.Total, currency), ofPaid(r.Paid, currency))
	}
	return fmt.Sprintf(" takes back %s%s.", page.Money(*r.Amount, currency), ofPaid(r.Paid, currency))
}

func ofPaid(paid *int64, currency string) string {
	if paid == nil {
		return ""
	}
	return fmt.Sprintf(" of %s paid", page.Money(*paid, currency))
}
