package explain

import (
	"fmt"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/page"
)

// arrived explains an event that says that a payment arrived, apart from credits.
func (y story) arrived() string {
	p, name := y.payment, page.Name(y.payment.ProviderPaymentID)
	by := y.namer()
	switch {
	case !y.named():
		return "It says that its payment arrived."
	case p.UserID == "":
		return fmt.Sprintf("It says that payment %s arrived. The payment grants nothing yet: %s.", name, NotClaimed(p, "user"))
	case y.paid == nil || by == nil:
		return fmt.Sprintf("It says that payment %s of user %s arrived.", name, page.Name(p.UserID)) + y.gave()
	case y.paid.User == p.UserID && y.paid.Given:
		return fmt.Sprintf("It is a gift of the shop for user %s.", page.Name(p.UserID))
	case y.paid.User == p.UserID:
		return fmt.Sprintf("It says that payment %s of user %s arrived.", name, page.Name(p.UserID)) + y.gave()
	case y.paid.User != "":
		return fmt.Sprintf("It names user %s. By the provider's time %s was first, and names user %s: payment %s is of that user.",
			page.Name(y.paid.User), nameAndTime(by), page.Name(p.UserID), name)
	case by.Seq > y.event.StreamSeq && y.userBefore(by) != "":
		return fmt.Sprintf("It says that payment %s arrived. Until %s (seq %d) named user %s, it was for user %s.",
			name, page.Name(by.EventID), by.Seq, page.Name(p.UserID), page.Name(y.userBefore(by))) + y.gave()
	case by.Seq > y.event.StreamSeq:
		return fmt.Sprintf("It says that payment %s arrived. Its user was not known until %s (seq %d) named user %s.",
			name, page.Name(by.EventID), by.Seq, page.Name(p.UserID)) + y.gave()
	}
	return fmt.Sprintf("It says that payment %s arrived. Its user is %s, as %s says.", name, page.Name(p.UserID), page.Name(by.EventID)) + y.gave()
}

// userBefore returns another user whom events of the subscription named before that one arrived; empty if there is none.
func (y story) userBefore(by *projections.Fact) string {
	other := y.rows.Subscriptions[y.payment.SubscriptionID].Facts.First(func(f *projections.Fact) bool {
		return f.User != "" && f.User != by.User && f.Seq < by.Seq
	})
	if other == nil {
		return ""
	}
	return other.User
}

// gave says what a claimed payment gives, apart from credits.
func (y story) gave() string {
	p, other := y.payment, ""
	if y.event.Kind != "" && y.event.Kind != p.Kind {
		other = fmt.Sprintf(" Its other events decide that the payment is for %s.", kindWords(p.Kind))
	}
	switch p.Kind {
	case projections.KindSubscription:
		if y.paysNothingLater() {
			return other + y.status() + " Nothing was paid, and an earlier payment had begun the subscription: so it grants no trial credits."
		}
		return other + y.status() + y.besideOthers()
	case projections.KindPro:
		return other + y.licence()
	case "none":
		return " The catalogue says that its product grants nothing."
	}
	return other
}

// paysNothingLater reports whether the payment is one of 0 of a subscription that another one had begun.
func (y story) paysNothingLater() bool {
	return y.payment.Credits == nil && y.paid != nil && y.paid.Trial && y.subscription.Facts.First(func(f *projections.Fact) bool {
		return f.Says == projections.Paid && !f.IsFree() && f.Status != events.Trialing && f.At.Before(y.paid.At)
	}) != nil
}

// licence says whether the payment gives a licence.
func (y story) licence() string {
	p, of := y.payment, y.rows.Subscriptions[y.payment.SubscriptionID]
	switch {
	case !p.ReversedAt.IsZero(): // before or after the claim
		return " The whole payment was taken back, so it gives no licence."
	case p.Lasts && projections.HasEnded(of.Status):
		return fmt.Sprintf(" It gave a licence, which ended with its subscription: %s set it to %s.", page.Name(of.EventID), page.Words(of.Status))
	}
	return " It gave a licence."
}

// again explains another event of a payment that was claimed before.
func (y story) again() string {
	text := "The same payment again"
	first := y.event.StreamSeq
	for _, f := range y.payment.Facts {
		if f.Says == projections.Paid && f.Seq < first {
			first = f.Seq
			text = fmt.Sprintf("The same payment again: %s (seq %d) told of it before", page.Name(f.EventID), f.Seq)
		}
	}
	if y.rows.Wrote[y.event.EventID].Granted == 0 {
		text += ", so this event grants nothing"
	}
	text += ". What this event says of the payment counts, too."
	if y.subscription.EventID == y.event.EventID {
		text += y.status()
	}
	return text
}

// besideOthers says that the payment grants less than it would alone, because earlier payments of its period grant.
func (y story) besideOthers() string {
	var earlier []string
	for _, p := range y.rows.Periods[y.payment.Period()] {
		if projections.InPeriod(&p, &y.payment) < 0 {
			earlier = append(earlier, page.Name(p.ProviderPaymentID))
		}
	}
	if len(earlier) == 0 {
		return ""
	}
	rest := "only the rest"
	if y.payment.Credits == nil {
		rest = "nothing"
	}
	return " One period grants as much as its largest payment." +
		fmt.Sprintf(" Before this one the period had the credits of %s, so this one grants %s.", strings.Join(earlier, ", "), rest)
}
