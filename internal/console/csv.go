package console

import (
	"context"
	"encoding/csv"
	"fmt"
	"net/http"
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
// be given. Its columns are those of the rows R in JSON.
type csvAnswer[R any] struct {
	w     http.ResponseWriter
	csv   *csv.Writer
	name  string
	begun bool
	rows  int
}

func (a *csvAnswer[R]) begin() error {
	if a.begun {
		return nil
	}
	a.begun = true
	a.w.Header().Set("Content-Type", "text/csv; charset=utf-8; header=present")
	a.w.Header().Set("Content-Disposition", `attachment; filename="`+a.name+`.csv"`)
	return a.csv.Write(page.Columns[R]())
}

func (a *csvAnswer[R]) write(rows []R) error {
	if err := a.begin(); err != nil {
		return err
	}
	if a.rows += len(rows); a.rows > maxDownloadRows {
		return fmt.Errorf("a download has at most %d rows; limit the list to a shorter time", maxDownloadRows)
	}
	for i := range rows {
		var cells []string
		for _, value := range page.Cells(rows[i]) {
			cells = append(cells, cell(value))
		}
		if err := a.csv.Write(cells); err != nil {
			return err
		}
	}
	a.csv.Flush()
	return a.csv.Error()
}

// eachRow calls write with all rows of a list.
type eachRow[R any] func(ctx context.Context, asked query, tables *store.Store, write func([]R) error) error

// withCSV serves a page at a path, and its rows as CSV with ?format=csv.
func withCSV[R any](
	c *Console, mux *http.ServeMux, path string, of parameters, read func(*http.Request, query) (view, error), each eachRow[R],
) {
	shown := c.page(of, read)
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("format") != "csv" {
			shown(w, r)
			return
		}
		download(c, w, r, strings.TrimPrefix(path, "/"), of, each)
	})
}

// download answers with all rows, of one moment. If an error comes after the first rows, it cuts the connection: nobody
// then takes the file for a whole one. One download runs at a time, because each holds a connection to the database for
// its whole time.
func download[R any](c *Console, w http.ResponseWriter, r *http.Request, name string, of parameters, each eachRow[R]) {
	ctx, cancel := context.WithTimeout(r.Context(), downloadTimeout)
	defer cancel()
	asked, err := c.queryOf(r, of)
	if err != nil {
		c.refuse(w, r, asked, err)
		return
	}
	select {
	case c.downloads <- struct{}{}:
		defer func() { <-c.downloads }()
	case <-ctx.Done():
		c.refuse(w, r, asked, ctx.Err())
		return
	}
	out := &csvAnswer[R]{w: w, csv: csv.NewWriter(w), name: name}
	out.csv.UseCRLF = true
	tables, err := c.tablesOf(ctx, asked.schema)
	if err == nil {
		err = each(ctx, asked, tables, out.write)
	}
	if err == nil {
		err = out.write(nil) // the header, if there are no rows
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

// cell is a value in CSV; nil is an empty cell. Spreadsheets take a text that begins with one of these characters for a
// formula; the quote before it prevents that.
func cell(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case time.Time:
		return v.UTC().Format(time.RFC3339)
	case string:
		if v = page.Clean(v); v != "" && strings.ContainsRune("=+-@'", rune(v[0])) {
			return "'" + v
		}
		return v
	}
	return fmt.Sprint(value)
}
