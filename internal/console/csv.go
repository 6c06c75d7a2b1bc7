package console

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
)

const (
	// downloadTimeout bounds a download. It is less than writeTimeout.
	downloadTimeout = 45 * time.Second
	// maxDownloadRows bounds the rows of a download.
	maxDownloadRows = 500_000
)

// csvAnswer is an answer in CSV as RFC 4180 has it. The answer begins with its first rows; until then another one can
// be given.
type csvAnswer struct {
	w      http.ResponseWriter
	csv    *csv.Writer
	name   string
	header []string
	begun  bool
	rows   int
}

func (a *csvAnswer) begin() error {
	if a.begun {
		return nil
	}
	a.begun = true
	a.w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	a.w.Header().Set("Content-Disposition", `attachment; filename="`+a.name+`.csv"`)
	return a.csv.Write(a.header)
}

func (a *csvAnswer) write(rows [][]string) error {
	if err := a.begin(); err != nil {
		return err
	}
	if a.rows += len(rows); a.rows > maxDownloadRows {
		return fmt.Errorf("a download has at most %d rows; limit the list to a shorter time", maxDownloadRows)
	}
	return a.csv.WriteAll(rows)
}

// writeRows writes rows of CSV.
type writeRows func([][]string) error

// routeWithCSV serves a page at a path, and its rows as CSV with ?format=csv.
func (c *Console) routeWithCSV(
	mux *http.ServeMux, path string, of parameters, read func(*http.Request, query) (view, error),
	header []string, rows func(context.Context, query, *store.Store, writeRows) error,
) {
	shown := c.page(of, read)
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") != "csv" {
			shown(w, r)
			return
		}
		c.download(w, r, strings.TrimPrefix(path, "/"), of, header, rows)
	})
}

// download answers with all rows, of one moment. If an error comes after the first rows, it cuts the connection: nobody
// then takes the file for a whole one. One download runs at a time, because each holds a connection to the database for
// its whole time.
func (c *Console) download(
	w http.ResponseWriter, r *http.Request, name string, of parameters, header []string,
	rows func(context.Context, query, *store.Store, writeRows) error,
) {
	ctx, cancel := context.WithTimeout(r.Context(), downloadTimeout)
	defer cancel()
	asked, err := c.queryOf(r, of)
	select {
	case c.downloads <- struct{}{}:
		defer func() { <-c.downloads }()
	case <-ctx.Done():
		c.refuse(w, r, asked, ctx.Err())
		return
	}
	out := &csvAnswer{w: w, csv: csv.NewWriter(w), name: name, header: header}
	out.csv.UseCRLF = true
	var tables *store.Store
	if err == nil {
		tables, err = c.tablesOf(ctx, asked.schema)
	}
	if err == nil {
		err = rows(ctx, asked, tables, out.write)
	}
	if err == nil {
		if err = out.begin(); err == nil {
			out.csv.Flush()
			err = out.csv.Error()
		}
	}
	switch {
	case err == nil:
	case out.begun:
		c.Logger.WarnContext(r.Context(), "a download was cut", "path", r.URL.Path, "rows", out.rows, "error", err)
		panic(http.ErrAbortHandler)
	default:
		c.refuse(w, r, asked, err)
	}
}

// text is a text in CSV. Spreadsheets take a cell that begins with one of these characters for a formula; the quote
// before it prevents that.
func text(value string) string {
	value = page.Clean(value)
	if value != "" && strings.ContainsRune("=+-@'", rune(value[0])) {
		return "'" + value
	}
	return value
}

func number(n *int64) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(*n, 10)
}

func utc(t *time.Time) string {
	if t == nil || t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
