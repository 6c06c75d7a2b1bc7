package localpg

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/durable"
)

// reader is the role of programs that only read. It has the name that deploy/postgres/roles.sql
// gives it.
const reader = "payfold_console"

func readerPath(dir string) string { return filepath.Join(dir, "postgres.console.dsn") }

// ReaderDSN is DSN for a role that reads all tables and can change nothing.
func ReaderDSN(dir string) (string, error) {
	text, err := os.ReadFile(readerPath(dir))
	return strings.TrimSpace(string(text)), err
}

// publishReader makes the role and writes its connection string, which stays the same for the
// life of the cluster.
func publishReader(ctx context.Context, at site) error {
	dir := filepath.Dir(at.dsnFile)
	dsn, err := ReaderDSN(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	password := rand.Text()
	if known, err := url.Parse(dsn); err == nil && known.User != nil {
		password, _ = known.User.Password()
	}
	for _, c := range password {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return fmt.Errorf("%s has another password than payfold makes; remove the file", readerPath(dir))
		}
	}
	err = connect(ctx, at.dsn(database), func(conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `do $$ begin
				if not exists (select from pg_roles where rolname = '`+reader+`') then create role `+reader+`; end if;
			end $$;
			alter role `+reader+` login password '`+password+`';
			alter role `+reader+` set default_transaction_read_only = on;
			grant pg_read_all_data to `+reader)
		return err
	})
	if err != nil {
		return fmt.Errorf("make role %s: %w", reader, err)
	}
	return durable.Replace(readerPath(dir), at.dsnOf(reader, password, database)+"\n")
}
