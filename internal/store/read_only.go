package store

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

// ErrNotReadOnly means that a role has more rights than to read.
var ErrNotReadOnly = errors.New("the role may change something")

//go:embed read_only.sql
var readOnly string

// rightsTimeout bounds one look at the rights of a role, because a session can go silent.
const rightsTimeout = 5 * time.Second

// CheckReadOnly returns ErrNotReadOnly if the role of this store may change payfold's tables, or may get the right
// to: as their owner, as another role that it may take, or by a function of schema wallet that spends. It reads only the
// system catalogue, so it also works before there are tables. It does not look for functions in schemas of others.
func (s *Store) CheckReadOnly(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, rightsTimeout)
	defer cancel()
	var role string
	var rights []string
	if err := s.pool.QueryRow(ctx, readOnly, s.schema).Scan(&role, &rights); err != nil {
		return fmt.Errorf("ask what the database role may do: %w", err)
	}
	if len(rights) > 0 {
		return fmt.Errorf("%w: database role %q %s; it must be one that only reads, such as payfold_console of deploy/postgres/roles.sql", ErrNotReadOnly, role, rights[0])
	}
	return nil
}

// StayReadOnly calls CheckReadOnly again and again. It returns ErrNotReadOnly as soon as the role was
// given more rights, and nil after cancel. A database that does not answer is asked again.
func (s *Store) StayReadOnly(ctx context.Context, interval time.Duration) error {
	for pause := backoff.Every(interval); pause.Wait(ctx) == nil; {
		if err := s.CheckReadOnly(ctx); errors.Is(err, ErrNotReadOnly) {
			return err
		}
	}
	return nil
}
