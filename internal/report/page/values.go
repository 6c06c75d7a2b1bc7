package page

import (
	"strconv"
	"strings"
	"time"
)

// Time formats a time to the second, in UTC. The zero time is empty.
func Time(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02 15:04:05Z")
}

// Money formats an amount in the currency's minor unit, as the provider sends it. The currency may be
// empty.
func Money(amount int64, currency string) string {
	return strings.TrimSpace(strconv.FormatInt(amount, 10) + " " + Clean(currency))
}
