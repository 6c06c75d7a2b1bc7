package attention

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/report/page"
)

const (
	// givesUpSoon is how long before a provider gives up somebody has to look, also at night.
	givesUpSoon = 2 * time.Hour
	// longRefusing is how long no signature of a provider was valid, if somebody has to look. A stranger's are not for
	// long.
	longRefusing = 30 * time.Minute
	// recently is for how many minutes deliveries that were refused are a concern: the present one and a quarter of an hour
	// before it. Older ones are in the chart of the last hour.
	recently = 16
)

// refusals are the answers to deliveries that cost money: what was sent was not stored.
var refusals = map[string]string{
	"unauthorized": "had no valid signature",
	"unavailable":  "could not be stored",
	"too_many":     "came while too many were under way",
	"too_large":    "had a body that is too large",
}

// deliveries is what ingest tells of them.
type deliveries struct {
	*logreport.Ingest
	refused map[string]uint64 // lately, by answer
}

// lately says how many deliveries had an answer; empty: none.
func (d deliveries) lately(answer string) string {
	if d.refused[answer] == 0 {
		return ""
	}
	count := page.Count(d.refused[answer], "delivery")
	return fmt.Sprintf("In the last quarter of an hour %s %s.", count, refusals[answer])
}

// ofDeliveries says which are not stored, and for how long they are repeated. log is what the log says of itself.
func (l *List) ofDeliveries(d deliveries, log string) {
	const look = "Look at: `ingest status`."
	var trying, ended []string
	soon := false
	for _, name := range slices.Sorted(maps.Keys(d.GivesUp)) {
		left := d.left(name)
		switch {
		case d.doubted(name): // see ofSignatures
		case left > 0:
			trying, soon = append(trying, d.trying(name)), soon || left < givesUpSoon
		default:
			ended = append(ended, name)
		}
	}
	repeated := strings.Join(trying, " ")
	switch lost := d.lately("unavailable"); {
	case d.NotReady != "":
		l.Add(true, AboutIngest, look, "Ingest stores nothing now: "+d.NotReady+".", log, lost, repeated)
	case repeated != "":
		l.Add(soon, LastHour, "Repair what keeps ingest from storing. "+look,
			"Some deliveries were not stored.", lost, repeated)
	default:
		l.Add(false, LastHour, "The provider repeats them. "+look, lost)
	}
	l.ofSignatures(d)
	l.Add(false, LastHour, "The provider repeats them. "+look, d.lately("too_many"))
	l.Add(false, LastHour, "See MAX_BODY_BYTES in the documentation of the variables.", d.lately("too_large"))
	for _, name := range ended {
		l.Add(true, LastHour, repair(name), d.trying(name))
	}
}

// ofSignatures says which are not stored because their signature is not valid.
func (l *List) ofSignatures(d deliveries) {
	lately, wrong := d.lately("unauthorized"), false
	var perhaps []string // by which providers they may be
	for _, name := range slices.Sorted(maps.Keys(d.RefusesSignatures)) {
		since := time.Duration(d.RefusesSignatures[name] * float64(time.Second))
		if since <= longRefusing {
			if trying := d.trying(name); trying != "" && !d.ended(name) && d.doubted(name) {
				perhaps = append(perhaps, "If "+name+" sent them, "+trying)
			}
			continue
		}
		next := "Compare the secret in the provider's dashboard with the variable of ingest."
		if d.ended(name) {
			next += " " + repair(name)
		}
		l.Add(true, LastHour, next, fmt.Sprintf("No signature of %s was valid for %s, so none of its deliveries is stored.",
			name, page.Duration(since)), d.trying(name))
		wrong = true
	}
	if !wrong && lately != "" {
		l.Add(false, LastHour,
			"If the provider's dashboard shows them, compare the secret there with the variable of ingest.",
			append([]string{lately}, perhaps...)...)
	}
}

// repair is how the shop gets what a provider has stopped trying.
func repair(name string) string {
	if slices.Contains(providerapi.Names(), name) {
		return "Get what was missed: `ingest pull " + name + "`."
	}
	return "Have " + name + " send its failed deliveries again, in its dashboard."
}

// doubted reports whether a stranger may have sent all that was not stored: no signature was valid.
func (d deliveries) doubted(name string) bool {
	_, refused := d.RefusesSignatures[name]
	_, signed := d.GivesUpSigned[name]
	return refused && !signed
}

// left is how long the provider still repeats the oldest delivery that was not stored.
func (d deliveries) left(name string) time.Duration {
	return time.Duration(d.GivesUp[name] * float64(time.Second))
}

// trying says how long the provider repeats what was not stored; empty if that is not known.
func (d deliveries) trying(name string) string {
	switch left := d.left(name); {
	case left > 0:
		return fmt.Sprintf("%s stops trying in %s.", name, page.Duration(left))
	case d.ended(name):
		return name + " has stopped trying a delivery that was not stored."
	}
	return ""
}

// ended reports whether the provider has stopped trying.
func (d deliveries) ended(name string) bool {
	left, known := d.GivesUp[name]
	return known && left <= 0
}
