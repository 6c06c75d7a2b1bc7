// Package ping tells a service, once a minute, whether all is well. The service tells people, also when no ping comes
// any more. The convention is that of healthchecks: POST to an address while all is well, and to the address with /fail
// while something is wrong, with the reasons as the body.
//
//	all is well ──▶ POST URL
//	wrong at five checks in a row ──▶ POST URL/fail, at each further check
//	wrong for a shorter time ──▶ nothing
//
// Of all processes with one database, one pings: the leader.
package ping

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/store"
)

const (
	defaultInterval = time.Minute
	// patience is how many checks in a row must find something wrong. A restart is over sooner.
	patience = 5
	// roundTimeout bounds everything that happens at one check, and requestTimeout one ping of it.
	roundTimeout   = 45 * time.Second
	requestTimeout = 10 * time.Second
	// leaderTimeout is how long the session of a leader may be idle, because its process is frozen.
	leaderTimeout = 3 * time.Minute
	maxBody       = 10_000 // bytes; healthchecks keeps as many or more
	maxAnswer     = 1 << 16
)

// Config configures a Pinger. All fields but URL and Interval are required.
type Config struct {
	URL      URL // the zero URL: nothing is pinged
	Tables   *store.Store
	Wrong    func(ctx context.Context) ([]string, error) // what is wrong now, a sentence each
	Logger   *slog.Logger
	Interval time.Duration // 0 means a minute
}

// Pinger pings while it is the leader.
type Pinger struct {
	config  Config
	http    *http.Client
	session *pgx.Conn // outside the pool; holds the lock of the leader. nil: none
	wrong   int       // checks in a row at which something was wrong
	fault   backoff.Fault
}

// New returns a pinger. Run does the work.
func New(config Config) *Pinger {
	if config.Interval == 0 {
		config.Interval = defaultInterval
	}
	return &Pinger{config: config, http: &http.Client{
		Timeout:       requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Run pings until ctx ends, and returns nil. It logs each fault once, and tries again at the next check.
func (p *Pinger) Run(ctx context.Context) error {
	if p.config.URL == (URL{}) {
		return nil
	}
	defer p.http.CloseIdleConnections()
	defer p.endSession(ctx)
	for pause := backoff.Every(p.config.Interval); ; {
		err := p.check(ctx)
		switch {
		case ctx.Err() != nil:
		case err == nil:
			p.fault.Clear()
		case p.fault.IsNew(err):
			p.config.Logger.WarnContext(ctx, "PING_URL is not pinged", "error", err)
		}
		if pause.Wait(ctx) != nil {
			return nil
		}
	}
}

// check pings if this process is the leader.
func (p *Pinger) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTimeout)
	defer cancel()
	leads, err := p.lead(ctx)
	if err != nil {
		p.endSession(ctx)
		err = fmt.Errorf("become the leader: %w", err)
	}
	if !leads || err != nil {
		p.wrong = 0
		return err
	}
	wrong, err := p.config.Wrong(ctx)
	if err != nil {
		wrong = []string{fmt.Sprintf("The state of the tables is not known: %s.", err)}
	}
	if len(wrong) == 0 {
		p.wrong = 0
		return p.send(ctx, p.config.URL.address, "All is well.")
	}
	if p.wrong++; p.wrong < patience {
		return nil
	}
	return p.send(ctx, p.config.URL.fail(), strings.Join(wrong, "\n"))
}

// lead reports whether this process is the leader. Postgres ends the session of a leader that asks no more.
func (p *Pinger) lead(ctx context.Context) (leads bool, err error) {
	if p.session == nil {
		if p.session, err = pgx.ConnectConfig(ctx, p.config.Tables.LeaderConfig(leaderTimeout)); err != nil {
			return false, err
		}
	}
	// A session that has the lock gets it again.
	return leads, p.session.QueryRow(ctx, "select pg_try_advisory_lock($1)", store.PingLock).Scan(&leads)
}

const closeTimeout = 3 * time.Second

func (p *Pinger) endSession(ctx context.Context) {
	if p.session == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_ = p.session.Close(ctx)
	p.session = nil
}

// send posts a text. Its error does not have the address, which is a secret.
func (p *Pinger) send(ctx context.Context, address, text string) error {
	body := strings.ToValidUTF8(text[:min(len(text), maxBody)], "")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		return errors.New("the request cannot be made")
	}
	request.Header.Set("Content-Type", "text/plain; charset=utf-8")
	response, err := p.http.Do(request)
	if err != nil {
		var outer *url.Error
		if errors.As(err, &outer) {
			err = outer.Err
		}
		return fmt.Errorf("no answer: %w", err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxAnswer)) // so that the connection is used again
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the answer is %d", response.StatusCode)
	}
	return nil
}

// URL is an address to ping. It is a secret: anyone who knows it can say that all is well. It prints as [redacted].
type URL struct{ address string }

// ParseURL parses an address, http or https. Its error does not repeat the text.
func ParseURL(text string) (URL, error) {
	address, err := url.Parse(text)
	if err != nil || address.Host == "" || !slices.Contains([]string{"http", "https"}, address.Scheme) {
		return URL{}, errors.New("is not an http(s) address")
	}
	return URL{text}, nil
}

// String implements fmt.Stringer.
func (URL) String() string { return "[redacted]" }

// GoString implements fmt.GoStringer.
func (URL) GoString() string { return "[redacted]" }

func (u URL) fail() string {
	address, err := url.Parse(u.address)
	if err != nil {
		panic(err) // impossible: ParseURL has parsed it
	}
	return address.JoinPath("fail").String()
}
