package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

var (
	// ErrNotPrepared: no projector of this build has made its tables here yet.
	ErrNotPrepared = errors.New("the database has no tables of payfold yet; a projector makes them when it starts")
	// ErrUnknown: the tables have nothing of what was asked for.
	ErrUnknown = errors.New("nothing is known of it")

	ErrMoved = errors.New("the tables were replaced while they were read, and what was found means nothing: ask again")
)

// maxMoves bounds the readings of one view: a promotion is one moment, and two
// in a row are rare.
const maxMoves = 3

// View calls read in a read-only transaction of which every statement sees the
// same moment. Where a promotion or a drop comes between two statements, which
// would show two sets of tables, all is read again; so read begins anew each time.
func (s *Store) View(ctx context.Context, read func(context.Context, pgx.Tx) error) error {
	for attempt := 1; ; attempt++ {
		err := pgx.BeginTxFunc(ctx, s.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
			before, err := s.FindTables(ctx, tx)
			if err != nil {
				return err
			}
			if err := read(ctx, tx); err != nil {
				return err
			}
			return s.Unmoved(ctx, tx, before)
		})
		if (errors.Is(err, ErrMoved) || NotPrepared(err)) && attempt < maxMoves {
			continue
		}
		return err
	}
}

// Unmoved is errMoved where the schema's name does not lead to these tables any more.
func (s *Store) Unmoved(ctx context.Context, tx pgx.Tx, tables TablesID) error {
	// Taking a lock is what makes a session hear of renamings.
	if _, err := tx.Exec(ctx, "lock table "+Qualified(s.schema, "processed_event")+" in access share mode"); err != nil {
		return fmt.Errorf("find the tables again: %w", err)
	}
	if now, err := s.FindTables(ctx, tx); err != nil || now != tables {
		return errors.Join(err, ErrMoved)
	}
	return nil
}

// TablesID tells the sets of tables apart that bear a schema's name one after the other.
type TablesID uint32

// FindTables says which tables the schema's name leads to now, whatever the
// transaction's moment.
func (s *Store) FindTables(ctx context.Context, q Querier) (oid TablesID, err error) {
	var ready bool
	err = q.QueryRow(ctx, `select coalesce(to_regclass($1)::oid, 0),
		exists (select from pg_attribute where attrelid = to_regclass('payfold.disorder') and attname = 'schema_created_at')`,
		Qualified(s.schema, "processed_event")).Scan(&oid, &ready)
	if err != nil {
		return 0, fmt.Errorf("find the tables: %w", err)
	}
	if oid == 0 || !ready {
		return 0, ErrNotPrepared
	}
	return oid, nil
}
