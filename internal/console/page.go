package console

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/console/access"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

// view is what one page shows.
type view struct {
	template string
	title    string
	moment   browse.Moment // the moment that the page shows; zero: none
	data     any           // for the template, and in JSON
	onlyHit  *browse.Hit   // a browser is sent to its page
}

// pageTimeout bounds all queries of one page to the database and the log.
const pageTimeout = 15 * time.Second

var errNoPage = errors.New("there is no such page")

// page serves a page.
func (c *Console) page(of parameters, read func(*http.Request, query) (view, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), pageTimeout)
		defer cancel()
		var shown view
		asked, err := c.queryOf(r, of)
		if err == nil {
			shown, err = read(r.WithContext(ctx), asked)
		}
		if err != nil {
			c.refuse(w, r, asked, err)
			return
		}
		c.write(w, r, asked, http.StatusOK, shown)
	}
}

// route serves a page at a path.
func (c *Console) route(mux *http.ServeMux, path string, of parameters, read func(*http.Request, query) (view, error)) {
	mux.HandleFunc("GET "+path, c.page(of, read))
}

// routeOne serves the page of one thing at list + ID.
func (c *Console) routeOne(
	mux *http.ServeMux, list string, read func(*http.Request, query, *store.Store) (view, error), names ...string,
) {
	serve := c.page(chosen(append(names, "limit", "id")...), c.ofTables(read))
	mux.HandleFunc("GET "+list+"{id}", serve)
	mux.HandleFunc("GET "+list+"{$}", idOfQuery(serve))
}

// idOfQuery serves an address such as /users/?id=.. for an id that no path can have; see frame.Link.
func idOfQuery(serve http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.SetPathValue("id", r.URL.Query().Get("id"))
		serve(w, r)
	}
}

func (c *Console) write(w http.ResponseWriter, r *http.Request, asked query, status int, shown view) {
	var body bytes.Buffer
	var err error
	w.Header().Set("Vary", "Accept")
	switch {
	case access.WantsJSON(r):
		w.Header().Set("Content-Type", "application/json")
		if err = page.JSON(&body, shown.data); !c.ShowPersonalData {
			body = *bytes.NewBuffer(maskNames(body.Bytes()))
		}
	case shown.onlyHit != nil:
		http.Redirect(w, r, frame{Schema: asked.schema}.Link(shown.onlyHit.Kind+"s", shown.onlyHit.ID), http.StatusSeeOther)
		return
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		err = c.pages.ExecuteTemplate(&body, shown.template, c.frame(r, asked, shown))
	}
	if err != nil {
		c.Logger.ErrorContext(r.Context(), "a page of the console cannot be written", "page", shown.template, "error", err)
		http.Error(w, "This page cannot be shown. The log of the console says why.", http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = body.WriteTo(w)
}

// errorPage says why the requested page is not shown.
type errorPage struct {
	Status int    `json:"status"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func (c *Console) refuse(w http.ResponseWriter, r *http.Request, asked query, err error) {
	said := errorPage{Detail: sentence(err)}
	switch {
	case errors.Is(err, errNoPage):
		said.Status, said.Title, said.Detail = http.StatusNotFound, "There is no such page", "The menu above has all pages."
	case errors.As(err, new(explain.UnknownError)), errors.Is(err, store.ErrUnknown):
		said.Status, said.Title = http.StatusNotFound, "Nothing is known of it"
	case errors.Is(err, store.ErrNoSchema):
		said.Status, said.Title = http.StatusNotFound, "There is no such schema"
	case errors.Is(err, errBadValue), errors.Is(err, explain.ErrPlace), errors.Is(err, browse.ErrBadPlace):
		said.Status, said.Title = http.StatusBadRequest, "The address cannot be read"
	case errors.Is(err, context.Canceled): // the console ends, or nobody waits for the answer
		said.Status, said.Title, said.Detail = http.StatusServiceUnavailable, "The console is stopping", "Try again in a moment."
	case errors.Is(err, errNoLog):
		said.Status, said.Title = http.StatusServiceUnavailable, "The log does not answer"
	case errors.Is(err, browse.ErrNotIndexed):
		said.Status, said.Title = http.StatusConflict, "These tables cannot be looked through yet"
	case errors.Is(err, store.ErrReplaced):
		said.Status, said.Title = http.StatusServiceUnavailable, "The tables were replaced meanwhile"
	case errors.Is(err, store.ErrNotPrepared):
		said.Status, said.Title = http.StatusServiceUnavailable, "There are no tables yet"
	default:
		said.Status, said.Title = http.StatusServiceUnavailable, "The tables cannot be read"
		said.Detail += " " + c.withoutTables(r.Context())
		c.Logger.WarnContext(r.Context(), "a page of the console cannot be read", "path", r.URL.Path, "error", err)
	}
	c.write(w, r, query{Values: asked.Values, zone: asked.zone}, said.Status, view{template: "error.html", title: said.Title, data: said})
}

// withoutTables says what is known of deliveries while the tables cannot be read.
func (c *Console) withoutTables(ctx context.Context) string {
	state, fault := c.askIngest(ctx)
	switch {
	case fault != "":
		return "Ingest does not answer either, so whether deliveries are stored is not known."
	case state == nil:
		return "What was stored meanwhile reaches the tables later."
	case state.NotReady != "":
		return fmt.Sprintf("Ingest answers, but stores nothing: %s.", page.Clean(state.NotReady))
	}
	return "Ingest stores deliveries, so none is lost: they reach the tables later."
}

// sentence is an error as a sentence for people.
func sentence(err error) string {
	text := page.Clean(err.Error())
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
