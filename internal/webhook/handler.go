package webhook

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/telemetry/traces"
)

// appender is what the handler needs of eventlog.Log.
type appender interface {
	Append(ctx context.Context, d events.Delivery) (duplicate bool, err error)
}

// Config says which deliveries the handler accepts, and its limits.
type Config struct {
	Secrets        providers.Secrets // a provider is served if it has any
	MaxBodyBytes   int64
	MaxInFlight    int
	PublishTimeout time.Duration // how long to wait for the log's acknowledgement
	StallTimeout   time.Duration // how long to wait for a large body that makes no progress; 0 means five seconds
	Logger         *slog.Logger
	Registerer     prometheus.Registerer
	Tracer         *traces.Tracer // nil: no traces
}

// Handler answers deliveries. Safe for concurrent use.
type Handler struct {
	Config
	log        appender
	endpoints  map[string]*providers.Provider // by path
	slots      chan struct{}                  // one for each signed delivery that is being stored
	bodyMemory *bodyMemory                    // for bodies that are larger than firstRead
	metrics    *metrics
	recent     recent
	notStored  warning
	clockAhead map[string]*warning // by provider
}

// New returns a handler that appends to log.
func New(config Config, log appender) *Handler {
	if config.StallTimeout == 0 {
		config.StallTimeout = defaultStallTimeout
	}
	metrics := newMetrics(config.Registerer, slices.Collect(maps.Keys(config.Secrets))...)
	endpoints, clockAhead := map[string]*providers.Provider{}, map[string]*warning{}
	for name := range config.Secrets {
		endpoints[providers.Named(name).Path()] = providers.Named(name)
		clockAhead[name] = &warning{}
		metrics.clockAhead.WithLabelValues(name)
	}
	return &Handler{
		Config: config, log: log, endpoints: endpoints, slots: make(chan struct{}, config.MaxInFlight),
		bodyMemory: newBodyMemory(maxBodyMemory, metrics.evictedBodies), metrics: metrics, clockAhead: clockAhead,
	}
}

// ServeHTTP answers one delivery. The path is compared here, because a ServeMux would
// redirect paths such as //x, and a provider treats a redirect as a failure.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began, provider := time.Now(), h.endpoints[strings.TrimSuffix(r.URL.Path, "/")]
	a := h.serve(w, r, provider, began)
	if a.confirmed() {
		writeConfirmation(w, a)
	} else {
		h.Logger.DebugContext(r.Context(), "a delivery was refused", "answer", a.name, "reason", a.reason, "status", a.status)
		connectionOf(r.Context()).refuse()
		writeProblem(w, a)
	}
	h.metrics.observe(a, provider, began)
	h.recent.count(a.name, time.Now())
}

// serve reads a delivery, checks its signature, decodes its event and stores it. provider is nil if none has the path.
func (h *Handler) serve(
	w http.ResponseWriter, r *http.Request, provider *providers.Provider, began time.Time,
) (a answer) {
	if problem := checkRequest(r, provider); problem != nil {
		return *problem
	}
	conn := connectionOf(r.Context())
	large := h.newReservation(conn)
	defer large.release()
	body, problem := h.readBody(w, r, &large)
	if problem != nil {
		return *problem
	}
	received := time.Now()
	signature, err := provider.Verify(r.Header, body, h.Secrets[provider.Name()], received)
	if err != nil {
		return refusedSignature(provider, err, r.Header)
	}
	// RFC 9112, 6.1: a request with a length, too, is the last one of its connection. net/http hides the length.
	if !conn.mayStayOpen() || r.TransferEncoding != nil {
		w.Header().Set("Connection", "close")
	}
	d := events.Delivery{
		Body: body, Provider: provider.Name(), Signature: signature.Text, Signed: signature.Signed,
		KeyFingerprint: signature.KeyFingerprint, ReceivedAt: received,
		TraceParent: traceHeader(r, traceParent), TraceState: traceHeader(r, traceState),
	}
	span := h.startSpan(&d, began)
	defer func() { span.end(a) }()
	if d.Event, err = provider.Parse(body, signature.EventID); err != nil {
		a = malformed
		a.detail = err.Error()
		return a
	}
	span.setEvent(d.Event)
	h.checkClock(r.Context(), &d)
	return h.accept(r.Context(), d, span)
}

// accept appends a verified delivery to the log, and returns its answer. It continues if the sender closes the
// connection.
func (h *Handler) accept(ctx context.Context, d events.Delivery, span *deliverySpan) answer {
	select {
	case h.slots <- struct{}{}:
		defer func() { <-h.slots }()
	default:
		return tooMany
	}
	h.metrics.inFlight.Inc()
	defer h.metrics.inFlight.Dec()
	storing, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.PublishTimeout)
	defer cancel()
	appending := span.startAppend(&d)
	isDuplicate, err := h.log.Append(storing, d)
	appending.end(isDuplicate, err)
	if err != nil {
		h.notStored.log(ctx, h.Logger, time.Now(), "an event could not be stored; the provider sends it again",
			"event_id", d.Event.ID, "error", err)
		if errors.Is(err, context.DeadlineExceeded) {
			return lateConfirmed
		}
		return notConfirmed
	}
	confirmed := accepted
	if isDuplicate {
		confirmed = duplicate
	}
	confirmed.id = d.Event.ID
	return confirmed
}

// checkRequest checks what is known before the body is read: path, method and headers. It returns the problem, or nil.
func checkRequest(r *http.Request, provider *providers.Provider) *answer {
	switch {
	case provider == nil:
		return &notFound
	case r.Method != http.MethodPost:
		return &wrongMethod
	case !isJSON(r.Header.Get("Content-Type")):
		return &notJSON
	case !isIdentity(r.Header.Values("Content-Encoding")):
		return &encoded
	}
	return nil
}

// newReservation returns an empty reservation, for a body that is larger than its first buffer. conn is
// nil if no Listener accepted the connection.
func (h *Handler) newReservation(conn *connection) reservation {
	large := reservation{memory: h.bodyMemory, progress: progress{timeout: h.StallTimeout}}
	if conn != nil {
		large.sender, large.verified = conn, conn.trusted.Load()
	}
	return large
}

// AcceptedAt records that an earlier process answered a delivery 200 at that time. A time in the
// future, from a wrong clock, counts as now.
func (h *Handler) AcceptedAt(at time.Time) {
	if now := time.Now(); at.After(now) {
		at = now
	}
	h.metrics.stored.acceptedAt(at)
}

// isJSON ignores the parameters of the media type.
func isJSON(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	media = strings.ToLower(strings.TrimSpace(media))
	return media == "application/json" || strings.Contains(media, "/") && strings.HasSuffix(media, "+json")
}

func isIdentity(encodings []string) bool {
	for _, encoding := range encodings {
		if encoding = strings.TrimSpace(encoding); encoding != "" && !strings.EqualFold(encoding, "identity") {
			return false
		}
	}
	return true
}

// A provider's time that is further ahead of ingest's clock means that one of the two clocks is wrong. Synchronised
// clocks differ by less than a second.
const maxClockAhead = time.Minute

// checkClock warns of a delivery whose event is ahead of ingest's clock. Its time counts all the same.
func (h *Handler) checkClock(ctx context.Context, d *events.Delivery) {
	ahead := d.Event.OccurredAt.Sub(d.ReceivedAt)
	if ahead <= maxClockAhead {
		return
	}
	h.metrics.clockAhead.WithLabelValues(d.Provider).Inc()
	h.clockAhead[d.Provider].log(ctx, h.Logger, d.ReceivedAt,
		"an event is ahead of this server's clock; is the clock synchronised?",
		"provider", d.Provider, "event_id", d.Event.ID, "ahead_seconds", int64(ahead/time.Second))
}

// warningInterval is the time between two lines of one warning. While the log does not answer, or a clock is wrong,
// every delivery is a reason for one.
const warningInterval = time.Minute

// warning logs its first reason at once, and then at most one in each warningInterval. At level debug it logs every
// reason. Safe for concurrent use.
type warning struct {
	mu       sync.Mutex
	loggedAt time.Time
	unlogged int // reasons without a warning since loggedAt
}

func (w *warning) log(ctx context.Context, logger *slog.Logger, now time.Time, message string, attributes ...any) {
	w.mu.Lock()
	unlogged, due := w.unlogged, now.Sub(w.loggedAt) >= warningInterval
	if w.unlogged++; due {
		w.loggedAt, w.unlogged = now, 0
	}
	w.mu.Unlock()
	if due {
		logger.WarnContext(ctx, message, append(attributes, "others_since_last_line", unlogged)...)
		return
	}
	logger.DebugContext(ctx, message, attributes...)
}
