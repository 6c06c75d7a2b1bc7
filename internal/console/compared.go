package console

import (
	"fmt"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/reconcile"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/page"
)

// differences says what each kind of difference is.
var differences = map[reconcile.What]struct{ thing, differs string }{
	reconcile.MissingPayment:      {"payment", "that the tables lack"},
	reconcile.UnknownPayment:      {"payment", "that the provider does not know"},
	reconcile.OtherAmount:         {"payment", "of another amount"},
	reconcile.MissingSubscription: {"subscription", "that the tables lack"},
	reconcile.UnknownSubscription: {"subscription", "that the provider does not know"},
	reconcile.OtherStatus:         {"subscription", "of another status"},
	reconcile.OtherPeriod:         {"subscription", "of another period"},
	reconcile.MissingRefund:       {"refund", "that the tables lack"},
	reconcile.UnknownRefund:       {"refund", "that the provider does not know"},
	reconcile.OtherRefund:         {"refund", "of another amount"},
}

// ofComparisons says what projector reconcile has found, and where it could not compare.
func (l *moneyList) ofComparisons(all []reconcile.Kept, now time.Time) {
	for i := range all {
		k := &all[i]
		provider, code := page.Name(k.Provider), "projector reconcile "+k.Provider
		if k.FailedAt != nil {
			l.add(concern{
				What: fmt.Sprintf("The tables could not be compared with %s %s ago, so it is not known whether something is missing: %s.",
					provider, page.Duration(now.Sub(*k.FailedAt)), strings.TrimSuffix(k.Error, ".")),
				Next: "Repair the cause, and compare again:", Code: code,
			})
		}
		switch {
		case k.Stranger:
			l.add(concern{
				What: fmt.Sprintf("%s knew none of the payments of the tables %s ago.", provider, comparedAgo(k, now)),
				Next: "Is its key one of another store, or of the other mode? Compare again:", Code: code,
			})
		case len(k.Found) > 0 || k.More:
			one := concern{Next: "See each with its repair, and compare again after it:", Code: code}
			one.What = fmt.Sprintf("%s ago the tables differed from what %s lists: %s.", comparedAgo(k, now), provider, said(k))
			for _, found := range k.Found {
				one.Worth += l.usual.worth(browse.SumOf(found.Amount), found.Currency)
			}
			l.add(one)
		}
	}
}

func comparedAgo(k *reconcile.Kept, now time.Time) string {
	return page.Duration(now.Sub(*k.ComparedAt))
}

// said counts the differences.
func said(k *reconcile.Kept) string {
	var list []string
	for _, found := range k.Found {
		of, known := differences[found.What]
		if !known { // by a newer build
			of.thing, of.differs = "difference", page.Name(string(found.What))
		}
		text := page.Count(found.Count, of.thing) + " " + of.differs
		if found.Currency != "" {
			text += " (" + page.Money(found.Amount, found.Currency) + ")"
		}
		list = append(list, text)
	}
	if k.More {
		list = append(list, "and more that were not looked at")
	}
	return strings.Join(list, ", ")
}

// nothingDiffers says when the tables were compared last, where nothing differed; empty: nowhere.
func nothingDiffers(all []reconcile.Kept, now time.Time) string {
	var list []string
	for i := range all {
		if k := &all[i]; k.ComparedAt != nil && len(k.Found) == 0 && !k.More && !k.Stranger {
			list = append(list, fmt.Sprintf("%s %s ago", page.Name(k.Provider), comparedAgo(k, now)))
		}
	}
	if list == nil {
		return ""
	}
	return "Compared with " + strings.Join(list, ", ") + ": nothing differed."
}
