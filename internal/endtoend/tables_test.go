package endtoend

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv"
)

// requireOneFold compares the tables with those of a single projector that folds the log
// into an empty database, without disturbances.
func (w *world) requireOneFold(t *testing.T) {
	t.Helper()
	live := w.database
	defer func() { w.database = live }()
	w.database = testenv.Database(t)
	single := w.startProjector(t)
	w.awaitProjected(t)
	stop(t, single)
	for _, table := range tables.NameList() {
		require.Equal(t, rowsOf(t, w.database, table), rowsOf(t, live, table), table)
	}
}

func rowsOf(t *testing.T, dsn, table string) []string {
	t.Helper()
	connection, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer connection.Close(context.Background())
	rows, err := connection.Query(t.Context(), "select r::text from portal."+table+" r order by 1")
	require.NoError(t, err)
	out, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return out
}
