package ownevents

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/providers"
)

// CheckText returns an error if the text is not one line of printable characters that a table can have.
func CheckText(name, text string) error {
	switch {
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not UTF-8", name)
	case len(text) > providers.MaxText:
		return fmt.Errorf("%s has %d bytes, at most %d are possible", name, len(text), providers.MaxText)
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return fmt.Errorf("%s is %q, which has a character that cannot be printed", name, text)
	case strings.TrimSpace(text) != text:
		return fmt.Errorf("%s is %q, which begins or ends with a space", name, text)
	}
	return nil
}

// ParseTime reads a day (its first moment, UTC) or an RFC 3339 time.
func ParseTime(name, text string) (time.Time, error) {
	t, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t, err = time.Parse(time.RFC3339, text)
	}
	if err != nil {
		return time.Time{}, fmt.Errorf("%s is %q, which is neither a day (2026-03-01) nor a time (2026-03-01T12:00:00Z)", name, text)
	}
	if t = t.UTC().Truncate(time.Microsecond); !providers.IsPlausible(t) {
		return time.Time{}, fmt.Errorf("%s is %s, must be in the years 2000 to 2099", name, text)
	}
	return t, nil
}

// ParseFuture is ParseTime for a time after now.
func ParseFuture(name, text string, now time.Time) (time.Time, error) {
	t, err := ParseTime(name, text)
	if err == nil && !t.After(now) {
		return time.Time{}, fmt.Errorf("%s is %s, which is in the past", name, text)
	}
	return t, err
}

// CheckCredits returns an error if no grant can have so many credits.
func CheckCredits(name string, credits int64) error {
	if credits < 1 || credits > catalogue.MaxCredits {
		return fmt.Errorf("%s is %d, must be 1 to %d", name, credits, int64(catalogue.MaxCredits))
	}
	return nil
}

func parseCredits(text string) (int64, error) {
	credits, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("credits is %q, which is not a whole number", text)
	}
	return credits, CheckCredits("credits", credits)
}

// KindOf returns the kind of a product by the catalogue; empty if there is none. The error names a product that the
// catalogue does not have.
func KindOf(sold *catalogue.Catalogue, product string, at time.Time) (catalogue.Kind, error) {
	if sold == nil {
		return "", nil
	}
	offer := sold.Offer(product, at)
	if offer == nil {
		return "", fmt.Errorf("the catalogue does not have the product %q", product)
	}
	return offer.Kind, nil
}
