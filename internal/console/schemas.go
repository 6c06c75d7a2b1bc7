package console

import (
	"context"
	"sync"

	"github.com/payfold/payfold/internal/store"
)

// maxSchemas is how many schemas beside the live one have open connections.
const maxSchemas = 4

// schemas opens the tables that pages show. A page may show those of a rebuild instead of the
// live ones.
type schemas struct {
	live *store.Store

	mu     sync.Mutex
	opened []*store.Store // the one that was used last at the end
}

func newSchemas(live *store.Store) *schemas { return &schemas{live: live} }

// named calls work with the tables of a schema; empty: the live ones. The error is
// store.ErrNoSchema where there is no such schema.
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
	return work(tables)
}

func (s *schemas) open(ctx context.Context, name string) (*store.Store, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, tables := range s.opened {
		if tables.Schema() == name {
			s.opened = append(append(s.opened[:i:i], s.opened[i+1:]...), tables)
			return tables, nil
		}
	}
	tables, err := s.live.OpenSchema(context.WithoutCancel(ctx), name)
	if err != nil {
		return nil, err
	}
	if len(s.opened) == maxSchemas {
		go s.opened[0].Close() // waits for the pages that use it
		s.opened = s.opened[1:]
	}
	s.opened = append(s.opened, tables)
	return tables, nil
}

func (s *schemas) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, tables := range s.opened {
		tables.Close()
	}
	s.opened = nil
}
