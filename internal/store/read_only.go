package store

import (
	"context"
	"fmt"
)

// CheckReadOnly returns an error where the role of this store may change payfold's tables. It does
// not connect to tables, so it also works before there are any.
func (s *Store) CheckReadOnly(ctx context.Context) error {
	var role string
	var rights []string
	err := s.pool.QueryRow(ctx, `select current_user, array(
		select 'is a superuser' from pg_roles where rolname = current_user and rolsuper
		union all select 'may create schemas' where has_database_privilege(current_database(), 'create')
		union all select 'may create tables in schema ' || nspname from pg_namespace
			where nspname in ('payfold', $1) and has_schema_privilege(oid, 'create')
		union all select 'may change table ' || oid::regclass from pg_class
			where relkind in ('r', 'p') and relnamespace in (select oid from pg_namespace where nspname in ('payfold', $1))
			and has_table_privilege(oid, 'insert, update, delete, truncate'))`, s.schema).Scan(&role, &rights)
	if err != nil {
		return fmt.Errorf("ask what the database role may do: %w", err)
	}
	if len(rights) > 0 {
		return fmt.Errorf("database role %q %s; it must be one that only reads, such as payfold_console of deploy/postgres/roles.sql", role, rights[0])
	}
	return nil
}
