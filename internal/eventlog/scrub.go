package eventlog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"golang.org/x/time/rate"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/eventlog/blockstore"
	"github.com/payfold/payfold/internal/eventlog/wire"
	"github.com/payfold/payfold/internal/events"
)

// Scrubber reads every message of the log once a day, on every server that has a copy. A bit that has flipped on a disk
// shows only when the message is read: without a scrub perhaps when no other copy is left. It writes nothing.
//
// It checks the files of an embedded log without their server, which would cut off the rest of a block if it read a
// record whose length has changed. In a cluster NATS places the consumer of each reader on one of the servers, which
// reads its own copy. So the scrubber makes consumers until each server has had one.
type Scrubber struct {
	config  ScrubConfig
	limiter *rate.Limiter
	damage  *prometheus.GaugeVec
	ended   *prometheus.GaugeVec

	mu      sync.Mutex
	damaged map[string][]string // what cannot be read, by server; nil if nothing is known
}

// ScrubConfig describes a Scrubber.
type ScrubConfig struct {
	Log        *Log          // of the process that writes it
	Interval   time.Duration // between two scrubs; 0: a day. While something is wrong, a 24th of it
	Rate       int           // bytes a second; 0: 8 MB
	Logger     *slog.Logger
	Registerer prometheus.Registerer
}

const (
	scrubInterval  = 24 * time.Hour
	scrubsIfFaulty = 24 // in an interval

	// scrubRate is a small part of what a disk reads. 100 GB take three and a half hours, on each server of a cluster.
	scrubRate = 8 << 20

	// scrubBurst is more than a block has.
	scrubBurst = 16 << 20

	// scrubAttempts is how often in a row a server must fail to deliver a message. A late alarm is better than a false one.
	scrubAttempts = 3
	attemptPause  = time.Second

	// maxPlacements is how many consumers are made until one is on the server that is asked for. With three servers, one
	// scrub of 10^17 would need more.
	maxPlacements = 100

	// scrubPull is little, because deliveries use the same connection. The largest message fits.
	scrubPull = 2 << 20
)

// NewScrubber registers the metrics.
func NewScrubber(config ScrubConfig) *Scrubber {
	config.Interval, config.Rate = cmp.Or(config.Interval, scrubInterval), cmp.Or(config.Rate, scrubRate)
	with := promauto.With(config.Registerer)
	s := &Scrubber{
		config: config, limiter: rate.NewLimiter(rate.Limit(config.Rate), scrubBurst), damaged: map[string][]string{},
		damage: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_log_scrub_damage",
			Help: "Damaged places in the files of the embedded log (server payfold); of a cluster, 1 if a server cannot deliver a message.",
		}, []string{"server"}),
		ended: with.NewGaugeVec(prometheus.GaugeOpts{
			Name: "payfold_log_scrub_timestamp_seconds",
			Help: "When a scrub last ended that read all of a server's log, or up to damage; before that, when ingest first knew of the server.",
		}, []string{"server"}),
	}
	if s.embedded() {
		s.found(embeddedName, 0) // the start has read everything
	}
	return s
}

func (s *Scrubber) embedded() bool { return s.config.Log.server != nil }

// Run scrubs until ctx ends. It returns nil.
func (s *Scrubber) Run(ctx context.Context) error {
	scrub, whole := s.scrubCopies, false
	if s.embedded() {
		scrub, whole = s.scrubFiles, true
	}
	for {
		pause := s.config.Interval
		if !whole {
			pause /= scrubsIfFaulty
		}
		if (&backoff.Backoff{Min: pause, Max: pause}).Wait(ctx) != nil {
			return nil
		}
		whole = scrub(ctx)
	}
}

// Damage returns what the last scrubs could not read, a sentence for each place, and one if there are more than
// blockstore.MaxNamed.
func (s *Scrubber) Damage() (all []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range slices.Sorted(maps.Keys(s.damaged)) {
		all = append(all, s.damaged[server]...)
	}
	return all
}

// found notes the result of a scrub that has read everything, or has found damage in so many places.
func (s *Scrubber) found(server string, places int, damage ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.damaged[server] = damage
	s.damage.WithLabelValues(server).Set(float64(places))
	s.ended.WithLabelValues(server).SetToCurrentTime()
}

// failed logs why something was not read to its end.
func (s *Scrubber) failed(ctx context.Context, server string, err error) {
	if ctx.Err() == nil {
		s.config.Logger.WarnContext(ctx, "the log is not scrubbed", "server", server, "error", err)
	}
}

// pace waits until so many bytes may be read.
func (s *Scrubber) pace(ctx context.Context, bytes int) error {
	for ; bytes > 0; bytes -= scrubBurst {
		if err := s.limiter.WaitN(ctx, min(bytes, scrubBurst)); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// scrubFiles checks the files of the embedded log, and reports whether they are whole.
func (s *Scrubber) scrubFiles(ctx context.Context) (whole bool) {
	report, err := s.config.Log.files.Scrub(ctx, s.pace)
	if err == nil && len(report.Damage) > 0 {
		report, err = s.config.Log.files.Scrub(ctx, s.pace) // damage is still there when it is read again
	}
	if err != nil {
		s.failed(ctx, embeddedName, err)
		return false
	}
	places := len(report.Damage)
	var damage []string
	for _, d := range report.Damage[:min(places, blockstore.MaxNamed)] {
		damage = append(damage, d.String())
		s.config.Logger.ErrorContext(ctx, "the log is damaged", "damage", d.String())
	}
	if more := places - len(damage); more > 0 { // the state of ingest would become too long for those who ask
		damage = append(damage, fmt.Sprintf("and %d more; ingest check names all", more))
	}
	s.found(embeddedName, places, damage...)
	return places == 0
}

// scrubCopies reads what each server of a cluster has, and reports whether all of it was read.
func (s *Scrubber) scrubCopies(ctx context.Context) (whole bool) {
	info, err := s.config.Log.Info(ctx)
	if err != nil {
		s.failed(ctx, "", err)
		return false
	}
	s.know(info)
	whole = info.Current == info.Replicas
	for _, server := range info.Servers {
		var unreadable *unreadableError
		err := s.scrubCopy(ctx, server)
		switch {
		case err == nil:
			s.found(server, 0)
			continue
		case errors.As(err, &unreadable):
			s.config.Logger.ErrorContext(ctx, "a server's copy of the log is damaged", "server", server, "seq", unreadable.seq, "error", unreadable.reason)
			s.found(server, 1, "server "+server+": "+unreadable.Error())
		default:
			s.failed(ctx, server, err)
		}
		whole = false
	}
	return whole
}

// know begins the metrics of new servers, and removes those of servers that have no replica any more.
func (s *Scrubber) know(info Info) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, server := range info.Servers {
		if _, known := s.damaged[server]; !known {
			s.damaged[server] = nil
			s.ended.WithLabelValues(server).SetToCurrentTime()
		}
	}
	if info.Current < info.Replicas {
		return // a server that is away may still have one
	}
	for server := range s.damaged {
		if !slices.Contains(info.Servers, server) {
			delete(s.damaged, server)
			s.damage.DeleteLabelValues(server)
			s.ended.DeleteLabelValues(server)
		}
	}
}

// unreadableError means that a server, which has a consumer and should have the message at seq, does not deliver it.
type unreadableError struct {
	seq    uint64
	reason error
}

func (e *unreadableError) Error() string { return fmt.Sprintf("seq %d: %s", e.seq, e.reason) }

// scrubCopy reads what a server has, up to what the leader has when it begins. The error is an unreadableError if the
// server does not deliver a message again and again, although it counts as current.
func (s *Scrubber) scrubCopy(ctx context.Context, server string) error {
	next, last := uint64(0), uint64(0)
	for stuck, attempts := uint64(0), 0; ; {
		info, err := s.config.Log.Info(ctx)
		if err != nil {
			return err
		}
		if !slices.Contains(info.Servers, server) {
			return errors.New("the server is behind, or away")
		}
		if last == 0 {
			last = info.Last
		}
		if next = max(next, info.ServerFirst); next > last {
			return nil
		}
		var unreadable *unreadableError
		next, err = s.readCopy(ctx, server, next, last)
		switch {
		case err == nil:
			return nil
		case !errors.As(err, &unreadable) && !errors.Is(err, errTrimmed):
			return err
		case next != stuck:
			stuck, attempts = next, 0
		}
		if attempts++; attempts == scrubAttempts {
			return err
		}
		if err := backoff.Every(attemptPause).Wait(ctx); err != nil {
			return err
		}
	}
}

// errNotPlaced means that NATS has placed no consumer on the server that was asked for.
var errNotPlaced = errors.New("NATS places no reader there")

// readCopy reads the messages from seq to last that a server has, and returns the sequence after the last one it could
// read. The error is nil if it has read all of them. It is an unreadableError only if it was the server that did not
// deliver, and not, for example, if NATS makes no consumer.
func (s *Scrubber) readCopy(ctx context.Context, server string, seq, last uint64) (next uint64, err error) {
	ctx, stop, err := s.config.Log.whileConnected(ctx)
	if err != nil {
		return seq, err
	}
	defer stop()
	for range maxPlacements {
		if next, err = s.readPlaced(ctx, server, seq, last); !errors.Is(err, errNotPlaced) {
			break
		}
	}
	return next, err
}

// readPlaced is readCopy if NATS places the consumer on that server; otherwise it returns errNotPlaced.
func (s *Scrubber) readPlaced(ctx context.Context, server string, seq, last uint64) (next uint64, err error) {
	l, next := s.config.Log, seq
	ctx, consumer, stop, err := l.consume(ctx, consumerFrom(seq))
	if err != nil {
		return next, err
	}
	defer stop()
	if l.leader(consumer.CachedInfo().Cluster) != server {
		return next, errNotPlaced
	}
	end := errors.New("the end")
	err = l.pull(ctx, consumer, scrubPull, seq, func(m events.Message, _ wire.Header) error {
		if next = m.Seq + 1; next > last {
			return end
		}
		return s.pace(ctx, len(m.Body))
	}, jetstream.NextMaxWait(messageTimeout))
	switch {
	case ctx.Err() != nil:
		return next, whyEnded(ctx)
	case errors.Is(err, end):
		return next, nil
	case errors.Is(err, ErrDisconnected):
		return next, err
	}
	return next, &unreadableError{next, err} // the server has the consumer, and does not deliver
}
