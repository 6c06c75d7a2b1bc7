// Package pull appends to the log what a provider has and the log lacks: the events of an outage, or all events of a
// shop without a public address.
//
//	provider's API ──pages──▶ Puller ──what the log lacks──▶ log ──durable──▶ acknowledged, if the API wants that
//
// A pull has no state of its own. It reads the ids of the log since the time from which it asks (known.go), and the
// first pull of a process finds out from the log since when something may be missing (since.go). Nothing is
// acknowledged before it is durable. A pull that fails is done again from the same time on.
package pull

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/providers"
)

// eventLog is what a puller needs of the log.
type eventLog interface {
	Append(ctx context.Context, d events.Delivery) (duplicate bool, err error)
	Info(ctx context.Context) (eventlog.Info, error)
	StoredBy(ctx context.Context, info eventlog.Info, moment time.Time) (uint64, error)
	ReadUntil(ctx context.Context, from, until uint64, deliver func(events.Message) error) error
}

// Config says what is pulled.
type Config struct {
	API           *providerapi.Client
	Secrets       []providers.Secret // check what has a signature; none: what is pulled has no signature in the log
	MaxBodyBytes  int64
	AppendTimeout time.Duration // how long the log may take for one event
	Interval      time.Duration // of Run
	NotBefore     time.Time     // events from before are appended only by a pull since an earlier time; zero: there are none
	Logger        *slog.Logger
	Metrics       *Metrics // nil: none

	// Complete is called after a complete pull with the time at which it began, if the provider lists the events of all
	// its deliveries. The log has them. nil: no calls.
	Complete func(provider string, began time.Time)
}

// Puller pulls the events of one provider. Safe for concurrent use; one pull runs at a time.
type Puller struct {
	config   Config
	provider *providers.Provider
	log      eventLog
	turn     chan struct{} // holds one token while a pull runs
	told     told

	// Only the pull that has the turn uses these.
	next       time.Time // since when the next pull of Run asks; zero until the first one has asked the log
	unfinished time.Time // when the first pull began after the last complete one; zero if there is none
}

// inFlight is how many events a pull works on at once: an acknowledgement waits for the API. One of them is appended at a
// time, so that deliveries hardly wait for a pull.
const inFlight = 4

// overlap is how much earlier a pull asks than the last complete one began: for clocks that differ, and for events that
// the provider lists late.
const overlap = time.Hour

// New returns a puller that appends to log.
func New(config Config, log eventLog) *Puller {
	if config.Metrics == nil {
		config.Metrics = NewMetrics(nil)
	}
	config.Metrics.add(config.API.Provider)
	return &Puller{config: config, provider: providers.Named(config.API.Provider), log: log, turn: make(chan struct{}, 1)}
}

// Result counts the events of a pull.
type Result struct {
	Provider string    `json:"provider"`
	Since    time.Time `json:"since"`
	Oldest   time.Time `json:"oldest,omitzero"` // of the events seen so far; the newest come first
	Until    time.Time `json:"until"`           // when the pull began
	Seen     int64     `json:"seen"`
	Appended int64     `json:"appended"`
	Present  int64     `json:"present"` // the log had them already
	Refused  int64     `json:"refused"` // they cannot be read, or are too large; the log of ingest says which
}

// maxRetry bounds the wait after a pull that failed, so that a long interval does not make an outage longer.
const maxRetry = time.Minute

// Run pulls at once, and then every interval, until ctx ends. Until a pull is complete, it asks since that time, or as
// Pull does with the zero time. show is called after each page of a pull, and with ended after the pull; nil means no
// calls. Run logs a fault that repeats once.
func (p *Puller) Run(ctx context.Context, since time.Time, show func(r Result, ended bool)) error {
	if show == nil {
		show = func(Result, bool) {}
	}
	var fault backoff.Fault
	for ctx.Err() == nil {
		logger := p.config.Logger.With("provider", p.provider.Name())
		result, err := p.Pull(ctx, since, func(r Result) { show(r, false) })
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil:
			since = time.Time{}
			if fault.Clear() {
				logger.InfoContext(ctx, "events of the provider are pulled again")
			}
		case fault.IsNew(err):
			logger.ErrorContext(ctx, "events of the provider could not be pulled; it is tried again", "error", err)
		}
		if result.Appended > 0 {
			logger.InfoContext(ctx, "pulled events that the log lacked",
				"appended", result.Appended, "seen", result.Seen, "since", result.Since)
		}
		show(result, true)
		if backoff.Every(p.pause(err)).Wait(ctx) != nil {
			return nil
		}
	}
	return nil
}

// pause is how long Run waits after a pull with that error: as long as the API asks for.
func (p *Puller) pause(err error) time.Duration {
	if err == nil {
		return p.config.Interval
	}
	return max(min(p.config.Interval, maxRetry), providerapi.RetryAfter(err))
}

// Pull appends the events since a time that the log lacks. With the zero time it asks since the last complete pull began,
// less overlap; the first time, since something may be missing in the log, but not for what happened before NotBefore,
// unless it waits for an acknowledgement. progress is called after each page; nil means
// no calls. After an error everything that was counted is in the log, and the next pull goes on.
func (p *Puller) Pull(ctx context.Context, since time.Time, progress func(Result)) (result Result, err error) {
	providerapi.During(ctx, p.provider.Name()+": another pull has gone on", func() {
		select {
		case p.turn <- struct{}{}:
		case <-ctx.Done():
			err = ctx.Err()
		}
	})
	if err != nil {
		return Result{}, err
	}
	defer func() { <-p.turn }()
	r := &run{Puller: p, leaveOld: since.IsZero() && p.config.API.Kept() > 0, Result: Result{Provider: p.provider.Name(), Until: time.Now().UTC()}, progress: progress}
	if p.unfinished.IsZero() {
		p.unfinished = r.Until
	}
	p.config.Metrics.unfinished(r.Provider, p.unfinished)
	complete, err := r.pull(ctx, since)
	if complete {
		p.unfinished = time.Time{}
	}
	if complete && p.config.Complete != nil && p.config.API.Kept() > 0 {
		p.config.Complete(r.Provider, r.Until)
	}
	p.config.Metrics.ended(r.Result, complete, err)
	return r.Result, err
}

// run is one pull.
type run struct {
	*Puller
	Result
	leaveOld bool // leave out what happened before NotBefore
	known    known
	progress func(Result)

	appending      sync.Mutex
	mu             sync.Mutex
	unacknowledged []error // events that are stored, and that the API refuses to acknowledge
}

// pull reports whether it was complete: it has ended without an error, and asked since the time of the next pull of Run
// or before. What is older can still be missing after a pull that asked for less.
func (r *run) pull(ctx context.Context, since time.Time) (complete bool, err error) {
	if r.next.IsZero() {
		next, err := firstSince(ctx, r.log, r.Provider, cmp.Or(r.config.API.Kept(), lookBack), r.Until)
		if err != nil {
			return false, err
		}
		if r.next = next; next.Before(r.config.NotBefore) {
			r.next = r.config.NotBefore
		}
	}
	if r.Since = since; since.IsZero() {
		r.Since = r.next
	}
	complete = !r.Since.After(r.next)
	if kept := r.config.API.Kept(); kept > 0 && r.Since.Before(r.Until.Add(-kept)) {
		r.Since = r.Until.Add(-kept)
	}
	r.known = known{log: r.log, since: r.Since.Add(-overlap)}
	for page, err := range r.config.API.Events(ctx, r.Since) {
		if err == nil {
			err = r.take(ctx, page)
		}
		if err != nil {
			return false, errors.Join(err, r.refusedAnswers())
		}
		if r.progress != nil {
			r.progress(r.Result)
		}
	}
	if err := errors.Join(ctx.Err(), r.refusedAnswers()); err != nil {
		return false, err
	}
	if complete {
		r.next = r.Until.Add(-overlap)
	}
	return complete, nil
}

// take appends what the log lacks of a page. When it returns, everything that it counted is durable.
func (r *run) take(ctx context.Context, page []providerapi.Event) error {
	if err := r.known.refresh(ctx); err != nil {
		return err
	}
	var counts [numOutcomes]atomic.Int64
	group, appending := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for i := range page {
		e := &page[i]
		if r.leaveOld && !e.At.IsZero() && e.At.Before(r.config.NotBefore) {
			continue
		}
		if !e.At.IsZero() && (r.Oldest.IsZero() || e.At.Before(r.Oldest)) {
			r.Oldest = e.At
		}
		group.Go(func() error {
			got, err := r.one(appending, e)
			if err == nil {
				counts[got].Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	r.Appended += counts[appended].Load()
	r.Present += counts[present].Load()
	r.Refused += counts[refused].Load()
	r.Seen = r.Appended + r.Present + r.Refused
	r.config.Metrics.count(r.Provider, &counts)
	return err
}

// one appends an event if the log lacks it, and acknowledges it.
func (r *run) one(ctx context.Context, e *providerapi.Event) (outcome, error) {
	d, why := r.delivery(e)
	if why != nil {
		if e.Body == nil && r.known.has(e.ID) {
			return present, nil
		}
		r.tell(ctx, e, why)
		return refused, r.acknowledge(ctx, e, why.status, why.text)
	}
	got := present
	if !r.known.has(d.Event.ID) {
		duplicate, err := r.append(ctx, d)
		if err != nil {
			return 0, err
		}
		if !duplicate {
			got = appended
		}
	}
	return got, r.acknowledge(ctx, e, 200, `{"status":"stored"}`)
}

// append appends one event after the other.
func (r *run) append(ctx context.Context, d events.Delivery) (duplicate bool, err error) {
	r.appending.Lock()
	defer r.appending.Unlock()
	ctx, cancel := context.WithTimeout(ctx, r.config.AppendTimeout)
	defer cancel()
	return r.log.Append(ctx, d)
}

// acknowledge answers an event. If the API refuses that, the other events go on, and the pull ends with an error.
func (r *run) acknowledge(ctx context.Context, e *providerapi.Event, status int, said string) error {
	err := e.Acknowledge(ctx, status, said)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("event %s could not be acknowledged with %d: %w", e.ID, status, err)
	if !providerapi.Refused(err) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.unacknowledged = append(r.unacknowledged, err)
	return nil
}

// refusedAnswers returns an error if the API has refused that events are acknowledged.
func (r *run) refusedAnswers() error {
	if len(r.unacknowledged) == 0 {
		return nil
	}
	return fmt.Errorf("%d of the events stay at the provider, the first: %w", len(r.unacknowledged), r.unacknowledged[0])
}

// unstorable is why an event cannot be stored, with the status that a delivery of it would get.
type unstorable struct {
	status int
	text   string
}

// delivery returns an event as the log stores it, or why that is impossible. A signature that does not match is not
// stored: the API has authenticated the event, and its secret may be another endpoint's.
func (r *run) delivery(e *providerapi.Event) (events.Delivery, *unstorable) {
	switch {
	case e.Body == nil:
		return events.Delivery{}, &unstorable{410, "the provider no longer has its body"}
	case int64(len(e.Body)) > r.config.MaxBodyBytes:
		why := fmt.Sprintf("its body has %d bytes, and MAX_BODY_BYTES is %d", len(e.Body), r.config.MaxBodyBytes)
		return events.Delivery{}, &unstorable{413, why}
	case r.provider.IDInHeader() && events.CleanID(e.ID) != e.ID:
		return events.Delivery{}, &unstorable{400, "its id cannot be one of a delivery"}
	}
	event, err := r.provider.Parse(e.Body, e.ID)
	if err != nil {
		return events.Delivery{}, &unstorable{400, err.Error()}
	}
	d := events.Delivery{
		Event: event, Body: e.Body, Provider: r.Provider, Source: events.SourcePulled, ReceivedAt: time.Now(),
	}
	if e.Header == nil || len(r.config.Secrets) == 0 {
		return d, nil
	}
	signature, err := r.provider.Verify(e.Header, e.Body, r.config.Secrets, time.Time{})
	if err != nil {
		r.told.once("signature", func() {
			r.config.Logger.Warn("pulled events are stored without their signature, which the signing secret does not match: "+
				"set the secret of the endpoint that is pulled", "provider", r.Provider, "event_id", event.ID, "error", err)
		})
		return d, nil
	}
	d.Signature, d.Signed, d.KeyFingerprint = signature.Text, signature.Signed, signature.KeyFingerprint
	return d, nil
}

func (r *run) tell(ctx context.Context, e *providerapi.Event, why *unstorable) {
	r.told.once(cmp.Or(e.ID, string(e.Body))+why.text, func() {
		r.config.Logger.ErrorContext(ctx, "a pulled event cannot be stored",
			"provider", r.Provider, "event_id", e.ID, "reason", why.text)
	})
}

// told remembers what was said, so that each pull does not say it again.
type told struct {
	mu   sync.Mutex
	said map[string]bool
}

// maxTold bounds what is remembered; then everything can be said once more.
const maxTold = 10000

func (t *told) once(what string, say func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.said[what] {
		return
	}
	if t.said == nil || len(t.said) >= maxTold {
		t.said = map[string]bool{}
	}
	t.said[what] = true
	say()
}

// errNotRead means that the log could not be compared with the provider.
var errNotRead = errors.New("the log cannot be read")
