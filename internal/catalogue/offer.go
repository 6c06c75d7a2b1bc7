package catalogue

import (
	"fmt"
	"regexp"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxCredits bounds what one unit of a product grants.
const MaxCredits = 1_000_000_000_000

const (
	maxMonths    = 1200 // of a drip and a validity; a hundred years must be a mistake
	maxGraceDays = 366  // a year must be a mistake, too
	maxName      = 200  // characters, which one line of a page can show
)

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

type writtenOffer struct {
	From         string         `yaml:"from"`
	Kind         string         `yaml:"kind"`
	Credits      *wholeNumber   `yaml:"credits"`
	Drip         string         `yaml:"drip"`
	Months       *wholeNumber   `yaml:"months"`
	ValidMonths  *wholeNumber   `yaml:"valid_months"`
	TrialCredits *wholeNumber   `yaml:"trial_credits"`
	Lasts        string         `yaml:"lasts"`
	GraceDays    *wholeNumber   `yaml:"grace_days"`
	Name         string         `yaml:"name"`
	Prices       []writtenPrice `yaml:"prices"`
}

type writtenPrice struct {
	Amount   *wholeNumber `yaml:"amount"`
	Currency string       `yaml:"currency"`
	Every    string       `yaml:"every"`
}

// faults collects what is wrong with one offer.
type faults []error

func (f *faults) add(format string, args ...any) { *f = append(*f, fmt.Errorf(format, args...)) }

// inRange returns a number that may be absent.
func (f *faults) inRange(key string, written *wholeNumber, least, most int64) int64 {
	if written == nil {
		return 0
	}
	n := int64(*written)
	if n < least || n > most {
		f.add("%s is %d, must be %d to %d", key, n, least, most)
	}
	return n
}

func (w writtenOffer) offer() (Offer, faults) {
	var wrong faults
	offer := Offer{
		Kind: w.Kind, Months: 1, LastsAsSubscription: w.Lasts != "",
		Credits:      wrong.inRange("credits", w.Credits, 1, MaxCredits),
		ValidMonths:  wrong.inRange("valid_months", w.ValidMonths, 1, maxMonths),
		TrialCredits: wrong.inRange("trial_credits", w.TrialCredits, 1, MaxCredits),
		GraceDays:    wrong.inRange("grace_days", w.GraceDays, 0, maxGraceDays),
	}
	if w.From != "" {
		var err error
		if offer.From, err = parseFrom(w.From); err != nil {
			wrong.add("from is %q, which is neither a day (2026-03-01) nor an RFC 3339 time", w.From)
		}
	}
	w.checkKind(&wrong)
	switch {
	case w.Drip == "" && w.Months != nil:
		wrong.add("months needs drip: monthly")
	case w.Drip == "":
	case w.Drip != "monthly":
		wrong.add("drip is %q, which is not monthly", w.Drip)
	case w.Months == nil || *w.Months < 1 || *w.Months > maxMonths:
		wrong.add("a drip needs months, 1 to %d", maxMonths)
	case w.Credits == nil:
		wrong.add("a drip needs credits")
	default:
		offer.Months = int64(*w.Months)
	}
	if utf8.RuneCountInString(w.Name) > maxName || !isOneLine(w.Name) {
		wrong.add("name must be one line of at most %d characters", maxName)
	}
	for i, price := range w.Prices {
		price.check(&wrong, i+1, w.Kind)
	}
	return offer, wrong
}

// checkKind checks which fields a product of its kind may have.
func (w writtenOffer) checkKind(wrong *faults) {
	switch w.Kind {
	case OneTime:
		if w.Credits == nil {
			wrong.add("a one_time product must have credits")
		}
	case Subscription:
	case Pro:
		if w.Credits != nil {
			wrong.add("a pro product grants a licence and no credits")
		}
	case None:
		if w.Credits != nil || w.ValidMonths != nil {
			wrong.add("a product of kind none grants nothing, so it has no credits, drip or valid_months")
		}
	default:
		wrong.add("kind is %q, must be subscription, one_time, pro or none", w.Kind)
	}
	if w.TrialCredits != nil && w.Kind != Subscription {
		wrong.add("trial_credits needs kind: subscription")
	}
	switch {
	case w.Lasts == "":
	case w.Lasts != Subscription:
		wrong.add("lasts is %q, must be subscription; without it a licence is for ever", w.Lasts)
	case w.Kind != Pro:
		wrong.add("lasts needs kind: pro")
	}
	if w.GraceDays != nil && w.Kind != Subscription && (w.Kind != Pro || w.Lasts == "") {
		wrong.add("grace_days needs kind: subscription, or kind: pro with lasts: subscription")
	}
}

// check checks a price, which is for people: no rule reads it.
func (w writtenPrice) check(wrong *faults, number int, kind Kind) {
	switch {
	case w.Amount == nil:
		wrong.add("price %d has no amount", number)
	case *w.Amount < 0:
		wrong.add("amount of price %d is %d, must be at least 0, in the currency's minor unit (1210 for 12.10)", number,
			*w.Amount)
	}
	if !currency.MatchString(w.Currency) {
		wrong.add("currency of price %d is %q, must be three capital letters, such as EUR", number, w.Currency)
	}
	switch {
	case w.Every != "" && w.Every != "month" && w.Every != "year":
		wrong.add("every of price %d is %q, must be month or year; without it the price is paid once", number, w.Every)
	case w.Every != "" && kind == OneTime:
		wrong.add("price %d has every, but a one_time product is paid once", number)
	}
}

func isOneLine(name string) bool {
	for _, r := range name {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}

func parseFrom(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	return t.UTC().Truncate(time.Microsecond), err
}
