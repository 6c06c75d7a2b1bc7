//go:build linux

package endtoend

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// startBare starts the least that makes a delivery durable and visible: one goroutine appends the bodies
// that wait to a file, syncs it, and inserts their ids into a table, in one transaction. It has no HTTP, no
// second process and no fold.
func startBare(b *testing.B, database string) visiblePath {
	b.Helper()
	connection, err := pgx.Connect(b.Context(), database)
	require.NoError(b, err)
	_, err = connection.Exec(b.Context(), "create table public.bare (event_id text primary key)")
	require.NoError(b, err)
	file, err := os.Create(filepath.Join(b.TempDir(), "bare"))
	require.NoError(b, err)
	waiting := make(chan int, 1000) // numbers of events
	var ended errgroup.Group
	ended.Go(func() error {
		defer connection.Close(context.Background())
		defer file.Close()
		for first := range waiting {
			bodies, ids := realSized(first), []string{eventID(first)}
			for range len(waiting) {
				i := <-waiting
				bodies, ids = bodies+realSized(i), append(ids, eventID(i))
			}
			if _, err := file.WriteString(bodies); err != nil {
				return err
			}
			if err := file.Sync(); err != nil {
				return err
			}
			if _, err := connection.Exec(context.Background(), "insert into public.bare select unnest($1::text[])", ids); err != nil {
				return err
			}
		}
		return nil
	})
	b.Cleanup(func() {
		close(waiting)
		require.NoError(b, ended.Wait())
	})
	return visiblePath{
		deliver: func(_ context.Context, i int) error {
			waiting <- i
			return nil
		},
		database: database,
		found:    "select event_id from public.bare where event_id = any($1)",
	}
}
