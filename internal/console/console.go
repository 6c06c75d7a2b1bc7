// Package console serves the pages on which people look at the log and the tables.
//
//	request ──▶ Guard (who may look) ──▶ page: one snapshot ──▶ HTML or JSON
//
// It only reads: no route changes anything. A page shows one moment and names it. The same URL is
// JSON for a request that accepts application/json. Pages need no JavaScript; with it they follow
// the tables (see /live).
//
// Bodies and ids come from outside. html/template escapes everything in a page. Package page escapes
// characters that a browser would not show, or would show in another order.
package console

import (
	"cmp"
	"context"
	"embed"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/lag"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/logreport"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/telemetry"
)

// Guard decides who may look.
type Guard interface {
	// Protect serves pages to those who may look, and an error page to all others. The files in
	// /static are for everybody.
	Protect(pages http.Handler) http.Handler
	// HasSession reports whether the viewer has a session that a POST to /logout ends. ctx is
	// the context of the viewer's request.
	HasSession(ctx context.Context) bool
}

// Log is what the console needs of the event log.
type Log interface {
	lag.Log
	explain.Log
}

// Config says what a Console shows and to whom.
type Config struct {
	Log     Log
	Tables  *store.Store // of the live schema; its role should have no right to write
	Guard   Guard
	Secrets providers.Secrets // with which pages check signatures again; may be empty
	// Ingest asks ingest for its state; nil: pages say nothing of it.
	Ingest func(context.Context) (logreport.Ingest, error)
	// Lag returns the lag of the last hour by minute; nil: pages say nothing of it.
	Lag func() []lag.Minute
	// ShowPersonalData shows names and whole bodies. Otherwise they are masked.
	ShowPersonalData bool
	TimeZone         *time.Location // of the shop; nil: UTC
	Version          string
	Logger           *slog.Logger
}

// Console serves the pages. It is safe for concurrent use.
type Console struct {
	Config
	news      *news
	measured  *browse.Measures
	clock     clock
	pages     *template.Template
	downloads chan struct{} // has an item for each download that runs
}

// New returns a Console that serves nothing yet.
func New(config Config) *Console {
	shop := clock{cmp.Or(config.TimeZone, time.UTC), time.Now}
	news := newNews(config)
	return &Console{
		Config: config, news: news, clock: shop, pages: with(shop),
		measured:  browse.NewMeasures(shop.zone, news.tell),
		downloads: make(chan struct{}, 1),
	}
}

// drainTimeout is how long requests in flight may take after ctx has ended.
const drainTimeout = 2 * time.Second

// writeTimeout begins after a request's header. It is enough for pageTimeout and a slow line; /live sets deadlines of
// its own. Without it a client that reads no answer would keep its connection for ever.
const writeTimeout = time.Minute

// Run serves listener until ctx ends, and closes it.
func (c *Console) Run(ctx context.Context, listener net.Listener) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.news.run(ctx) })
	group.Go(func() error {
		c.measured.Run(ctx)
		return nil
	})
	group.Go(func() error {
		server := &http.Server{
			Handler: c.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
			WriteTimeout:   writeTimeout,
			MaxHeaderBytes: 32 << 10,
			BaseContext:    func(net.Listener) context.Context { return ctx }, // so that /live ends
			ErrorLog:       slog.NewLogLogger(c.Logger.Handler(), slog.LevelDebug),
		}
		return telemetry.Serve(ctx, server, listener, drainTimeout)
	})
	if err := group.Wait(); err != nil {
		return fmt.Errorf("console: %w", err)
	}
	return nil
}

// Handler serves all routes.
func (c *Console) Handler() http.Handler {
	pages := http.NewServeMux()
	c.route(pages, "/{$}", nil, c.ofTables(c.overview))
	withCSV(c, pages, "/events", ofEvents, c.ofTables(c.events), eventRows)
	c.routeOne(pages, "/events/", c.event)
	list(c, pages, "/customers", customers)
	list(c, pages, "/payments", payments)
	list(c, pages, "/subscriptions", subscriptions)
	c.routeOne(pages, "/users/", c.user, "before", "clock")
	c.routeOne(pages, "/payments/", c.payment)
	c.routeOne(pages, "/subscriptions/", c.subscription)
	c.route(pages, "/search", chosen("q"), c.ofTables(c.search))
	withCSV(c, pages, "/rejected", chosen("format"), c.ofTables(c.rejected), ungrantedRows)
	withCSV(c, pages, "/measures", ofMeasures, c.ofTables(c.measures), c.measureRows)
	c.route(pages, "/projectors", nil, c.programs)
	c.route(pages, "/schemas", nil, c.listSchemas)
	withCSV(c, pages, "/invitations", ofInvitations, c.listInvitations, c.invitationRows)
	pages.HandleFunc("GET /events/{id}/body", c.body)
	pages.HandleFunc("GET /body/{$}", idOfQuery(c.body))
	pages.HandleFunc("GET /live", c.live)
	pages.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		c.refuse(w, r, query{Values: r.URL.Query(), zone: c.clock.zone}, errNoPage)
	})
	pages.Handle("GET /static/", static())
	return withHeaders(c.Guard.Protect(pages))
}

// policy lets a page load the console's own files, and nothing else. Nobody may frame it. No
// string becomes a script.
const policy = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self'; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'; require-trusted-types-for 'script'"

func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

//go:embed static
var files embed.FS

// static serves the stylesheet, the script and the icon.
func static() http.Handler {
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-cache") // browsers ask again, so that they get the files of a new build
		server.ServeHTTP(w, r)
	})
}
