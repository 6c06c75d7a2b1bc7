package export

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// Formats are the forms of files, which are also the endings of their names.
var Formats = []string{"parquet", "csv"}

// Export writes the tables of the store's schema. It only reads from the database, which may be a standby.
type Export struct {
	Tables *store.Store
	Folder *Folder
	Format string    // one of Formats
	Moment time.Time // at which entitlement and credit_balance are computed; zero: when the newest message arrived
	Spends bool      // also what apps have spent by now
	// Root returns the root of the log with this id up to a sequence, nil if it is not known; nil: nobody asks. It is
	// called when no transaction is open any more.
	Root func(ctx context.Context, logID string, until uint64) (*LogRoot, error)

	opened func() // called when the moment of the export is fixed; only tests set it
}

const (
	// rowsPerFetch bounds the rows that Postgres sends at a time.
	rowsPerFetch = 5000
	// maxOpens limits the retries after concurrent promotions.
	maxOpens = 3
	// writeTimeout bounds the time between two reads, of a slow disk. After it Postgres ends the session.
	writeTimeout = 2 * time.Minute
)

// Run writes all files and then gives the folder its name. After an error there is no such folder.
func (e Export) Run(ctx context.Context) (Manifest, error) {
	manifest, err := e.writeFiles(ctx)
	if err != nil {
		return Manifest{}, err
	}
	if e.Root != nil {
		if manifest.LogRoot, err = e.Root(ctx, manifest.LogID, manifest.newest()); err != nil {
			return Manifest{}, fmt.Errorf("compute the root of the log: %w", err)
		}
	}
	if err := manifest.write(e.Folder); err != nil {
		return Manifest{}, err
	}
	return manifest, e.Folder.publish()
}

// writeFiles writes the files of all tables, of one moment.
func (e Export) writeFiles(ctx context.Context) (Manifest, error) {
	tx, manifest, err := e.openAgain(ctx)
	if err != nil {
		return Manifest{}, err
	}
	defer func() {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), store.CleanUpTimeout)
		defer cancel()
		_ = tx.Rollback(ending)
	}()
	if e.opened != nil {
		e.opened()
	}
	for i := range manifest.Files {
		if err := e.writeFile(ctx, tx, &manifest.Files[i]); err != nil {
			return Manifest{}, fmt.Errorf("export %s: %w", manifest.Files[i].Table, err)
		}
	}
	return manifest, nil
}

// openAgain is open, again after a promotion that happened meanwhile.
func (e Export) openAgain(ctx context.Context) (tx pgx.Tx, m Manifest, err error) {
	for range maxOpens {
		tx, err = e.Tables.Pool().BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return nil, m, fmt.Errorf("begin: %w", err)
		}
		if m, err = e.open(ctx, tx); err == nil {
			return tx, m, nil
		}
		_ = tx.Rollback(context.WithoutCancel(ctx))
		if !errors.Is(err, store.ErrReplaced) && !store.NotPrepared(err) {
			break
		}
	}
	return nil, m, err
}

// open opens a cursor on each table. A cursor stays on its table when a promotion renames the schema later.
func (e Export) open(ctx context.Context, tx pgx.Tx) (m Manifest, err error) {
	found, err := e.Tables.FindTables(ctx, tx)
	if err != nil {
		return m, err
	}
	m = Manifest{Format: e.Format}
	if err := m.readState(ctx, tx, e.Tables); err != nil {
		return m, err
	}
	if err := m.readMoment(ctx, tx, e.Moment); err != nil {
		return m, err
	}
	_, err = tx.Exec(ctx, `select set_config('idle_in_transaction_session_timeout', $1, true),
		set_config('cursor_tuple_fraction', '1', true)`,
		store.Milliseconds(writeTimeout))
	if err != nil {
		return m, fmt.Errorf("begin: %w", err)
	}
	all := sources
	if e.Spends {
		all = append(all[:len(all):len(all)], spends...)
	}
	for _, s := range all {
		file := File{Name: s.table() + "." + e.Format, Table: s.table(), Key: s.key}
		if file.Columns, file.Comment, err = s.columns(ctx, tx, e.Tables.Schema()); err != nil {
			return m, err
		}
		query, err := s.query(ctx, tx, e.Tables.Schema(), file.Columns, m.Moment)
		if err != nil {
			return m, err
		}
		if _, err := tx.Exec(ctx, "declare "+cursorOf(&file)+" no scroll cursor for "+query); err != nil {
			return m, fmt.Errorf("read %s: %w", s.table(), err)
		}
		m.Files = append(m.Files, file)
	}
	return m, e.Tables.CheckTables(ctx, tx, found)
}

func cursorOf(file *File) string { return store.Quoted("export_" + file.Table) }

// writeFile writes all rows of a cursor, and fills in what the manifest says of them.
func (e Export) writeFile(ctx context.Context, tx pgx.Tx, file *File) error {
	out, err := e.Folder.create(file.Name)
	if err != nil {
		return err
	}
	defer out.Close()
	sum := sha256.New()
	to := io.MultiWriter(out, sum)
	var rows rowWriter = newParquet(to, file.Columns)
	if e.Format == "csv" {
		if rows, err = newCSV(to, file.Columns); err != nil {
			return err
		}
	}
	for {
		count, err := copyRows(ctx, tx, file, rows)
		if err != nil {
			return err
		}
		if count == 0 {
			break
		}
		file.Rows += count
	}
	if err := rows.Close(); err != nil {
		return err
	}
	file.SHA256 = hex.EncodeToString(sum.Sum(nil))
	info, err := out.Stat()
	if err != nil {
		return err
	}
	file.Bytes = info.Size()
	return closeDurable(out)
}

// rowWriter writes the rows of one file. A row has what pgx makes of the types of goTypes; nil is null.
type rowWriter interface {
	Write(row []any) error
	Close() error // writes the rest; it does not close the file
}

// copyRows writes the next rows of a cursor, and returns how many there were.
func copyRows(ctx context.Context, tx pgx.Tx, file *File, to rowWriter) (count int64, err error) {
	fetch := fmt.Sprintf("fetch %d from %s", rowsPerFetch, cursorOf(file))
	rows, err := tx.Query(ctx, fetch, pgx.QueryExecModeDescribeExec)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for rows.Next() {
		row, err := rows.Values()
		if err != nil {
			return count, err
		}
		for i, v := range row {
			switch v.(type) {
			case nil, string, int64, bool, time.Time:
			default:
				return count, fmt.Errorf("column %s has the value %v, which an export has no form for", file.Columns[i].Name, v)
			}
		}
		if err := to.Write(row); err != nil {
			return count, err
		}
		count++
	}
	return count, rows.Err()
}

// closeDurable closes a file whose bytes survive a power cut when it returns nil.
func closeDurable(file *os.File) error {
	return errors.Join(file.Sync(), file.Close())
}
