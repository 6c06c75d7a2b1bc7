package providers

import (
	"maps"
	"time"

	"github.com/payfold/payfold/internal/events"
)

// Provider is the table of one payment provider: how it signs, where the facts are in its bodies, and what its event
// types mean. It is made once and not changed. Its methods are safe for concurrent use.
//
// A path names a value of the body by its keys, such as object.order.id. Paths are separated by spaces, and the first
// that has a value wins. "@key" is that key of the metadata. "list[0].id" is a value of the first element of an array.
// "before{path}after" puts texts around the value: so ids that a provider counts from 1 cannot be those of another
// provider.
type Provider struct {
	name    string
	schemes []scheme // the first whose headers a delivery has counts
	retries retries  // of a delivery that is not answered 2xx

	id      string            // path of the event's id; or inHeader, or ofBody
	kind    string            // path of its type
	time    string            // path of its time
	newest  bool              // of several times, the newest counts, not the first
	object  string            // path of the object that the event is about; it must be there
	marks   string            // paths that no body of the provider lacks: without one of them it is another provider's
	aliases map[string]string // other names of keys at the top
	seconds bool              // numbers are times in seconds, not in milliseconds

	metadata string // paths of metadata objects: the first that has a member is used whole
	facts    facts  // where the facts are, unless an event type has its own paths
	sums     []sum
	items    list
	answers  answers

	statuses map[string]string                // the provider's word for a status → ours; any other word is kept
	reversed map[string]events.ReversalStatus // likewise of a reversal; any other word is Pending
	arrived  []string                         // the states of a payment whose money arrived; nil: all but those of unpaid
	events   map[string]meaning               // what each type means; other types have no effect
	closed   bool                             // there are no other types: a body with another one is refused

	reader *trie // compiled
	known  map[string]*compiled
	other  *compiled // of a type that is not in events
}

// retries say when a provider sends a delivery again, as its documentation has it.
type retries struct {
	lasts time.Duration // from the first try to the last one; 0: not known
	when  string
}

// GivesUpAfter returns how long after a delivery the provider stops repeating it, by its documentation; 0 if that is
// not known.
func (p *Provider) GivesUpAfter() time.Duration { return p.retries.lasts }

// The places of an event id that no path names.
const (
	inHeader = "(header)" // the signature's header has it
	ofBody   = "(body)"   // the hash of the body
)

// facts are the paths of each fact.
type facts map[fact]string

// with returns these facts, with other paths for some of them. An empty path removes the fact.
func (f facts) with(others facts) facts {
	out := maps.Clone(f)
	maps.Copy(out, others)
	return out
}

// fact is a value that is read of a body.
type fact int

// The facts, in the order of the documentation.
const (
	customer    fact = iota
	user             // the shop's user
	kind             // subscription, one_time or pro
	productKey       // the key in the catalogue that the shop writes into the metadata
	product          // the provider's id of what was sold
	credits          // without a catalogue, and of a gift
	expires          // when the credits of a gift expire
	units            // how many, of the whole event
	github           // the GitHub user whom a licence invites
	mode             // live or test, true for live
	testMode         // true for test
	transaction      // the payment's first name
	order            // the payment's second name
	checkout         // the provider's id of the checkout in which it was bought
	writtenName      // the payment's name, only where the event has no other
	subscription
	paid     // the state of the order or of the payment
	due      // what is due before discounts: 0 means that nothing was sold yet, because a trial begins
	discount // if it is there, due is what is left after a discount
	status   // of a subscription
	ending   // true, a time or "cancel": it ends with its period
	pauseEnd // until when it is paused; decide looks at it
	periodStart
	periodEnd
	canceledAt
	extended        // until when the shop extends the subscription
	reversal        // the id of the refund or dispute
	cause           // refund or chargeback
	reversalStatus  // whether the money was taken back
	reversalAmount  // what this reversal takes back
	reversalIn      // the currency of that amount, where it can be another one than the payment's
	reversalTotal   // all that was taken back of the payment so far
	reversalPaid    // what was paid, with taxes
	reversalCredits // how many credits it takes back, and no money
	cut             // true: the body lists only a part of what was sold
	variant         // what decide looks at
	detail          // what decide looks at, too
	begin           // when the subscription began, or the order or invoice was made; decide looks at it
	numFacts
)

// The facts that only an element of a list has.
const (
	price fact = numFacts + iota
	amount
	prorated
	question // of a custom field of a checkout
	reply
	numNamed
)

// sum is where an amount and its currency are.
type sum struct {
	amount, currency string
	ofTransaction    bool // it comes from the transaction itself, so it has priority over an order's

	// If due is there and above 0, and discount covers neither due nor whole, an amount of 0 does not mean that 0 was paid.
	due, discount, whole string
}

// list is where the things that were sold are: the path of an array, and paths in each of its elements. An element
// whose amount or units are below 0 gives something back, and is not sold. prorated is true, or an
// object, for a part of a period. variant is what decide looks at.
type list struct {
	path, product, price, units, amount, prorated, periodStart, periodEnd, variant string
}

// answers is where the custom fields of a checkout are: the path of an array, and paths in each of its elements.
type answers struct{ path, key, value string }

// meaning is what an event type means.
type meaning struct {
	action   events.Action
	status   string // that the type gives a subscription; "" if a path says it
	cause    events.Cause
	reversal events.ReversalStatus // that the type gives a reversal; "" if a path says it
	facts    facts                 // other paths than those of the provider
	sums     []sum                 // likewise
	items    *list                 // likewise

	recurring bool                             // it belongs to a subscription, even if it names none
	decide    func(e *events.Event, b *values) // what no path can say; it is called last
}

// All are the providers, in the order of the documentation.
var All = []*Provider{specification, creem, stripe, paddle, polar, dodo, lemonSqueezy, payfold}

var byName = map[string]*Provider{}

func init() {
	for _, p := range All {
		p.compile()
		byName[p.name] = p
	}
}

// Named returns the provider of that name; nil if there is none.
func Named(name string) *Provider { return byName[name] }

// Names lists the names of all providers.
func Names() []string {
	names := make([]string, len(All))
	for i, p := range All {
		names[i] = p.name
	}
	return names
}

// Name is how configuration, paths, messages and tables name the provider.
func (p *Provider) Name() string { return p.name }

// Path is where the provider's deliveries arrive.
func (p *Provider) Path() string { return "/api/payments/" + p.name + "/webhook" }

func (p *Provider) paths(m meaning, f fact) string {
	if own, has := m.facts[f]; has {
		return own
	}
	return p.facts[f]
}
