package console

import (
	"context"
	"net/http"
	"sync"

	"github.com/payfold/payfold/internal/store"
)

// maxSchemas is how many schemas besides the live one have open connections.
const maxSchemas = 4

// schemas opens the tables that pages show. A page may show those of a rebuild instead of the
// live ones.
type schemas struct {
	live *store.Store

	mu     sync.Mutex
	opened []*openSchema // in the order of their last use
}

type openSchema struct {
	*store.Store
	pages sync.WaitGroup // the pages that use the schema
}

func newSchemas(live *store.Store) *schemas { return &schemas{live: live} }

// named calls work with the tables of a schema; empty: the live ones. The error is
// store.ErrNoSchema if there is no such schema.
func (s *schemas) named(ctx context.Context, name string, work func(*store.Store) error) error {
	if name == "" || name == s.live.Schema() {
		return work(s.live)
	}
	if _, err := s.live.SchemaNamed(ctx, name); err != nil {
		return err
	}
	tables, err := s.open(ctx, name)
	if err != nil {
		return err
	}
	defer tables.pages.Done()
	return work(tables.Store)
}

// open returns a schema that stays open until the caller is done with it.
func (s *schemas) open(ctx context.Context, name string) (*openSchema, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, tables := range s.opened {
		if tables.Schema() == name {
			s.opened = append(append(s.opened[:i:i], s.opened[i+1:]...), tables)
			tables.pages.Add(1)
			return tables, nil
		}
	}
	opened, err := s.live.OpenSchema(context.WithoutCancel(ctx), name)
	if err != nil {
		return nil, err
	}
	if len(s.opened) == maxSchemas {
		go s.opened[0].close()
		s.opened = s.opened[1:]
	}
	tables := &openSchema{Store: opened}
	tables.pages.Add(1)
	s.opened = append(s.opened, tables)
	return tables, nil
}

// close waits for the pages. Store.Close alone does not: a page holds no connection between two reads.
func (o *openSchema) close() {
	o.pages.Wait()
	o.Close()
}

func (s *schemas) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tables := range s.opened {
		tables.Close()
	}
	s.opened = nil
}

// ofTables reads a page about the tables that are asked for; see schemas.named.
func (c *Console) ofTables(read func(*http.Request, query, *store.Store) (view, error)) func(*http.Request, query) (view, error) {
	return func(r *http.Request, asked query) (out view, err error) {
		err = c.schemas.named(r.Context(), asked.schema, func(tables *store.Store) (err error) {
			out, err = read(r, asked, tables)
			return err
		})
		return out, err
	}
}
