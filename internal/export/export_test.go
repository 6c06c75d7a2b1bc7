package export

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/fingerprint"
	"github.com/payfold/payfold/internal/promote"
	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestTheManifestHasTheRootOfTheLogUpToTheNewestMessageOfTheTables(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 100)
	require.NoError(t, stop())
	tables := w.Open(ctx, t, store.LiveSchema)
	applied := w.Head(ctx, t)
	w.Log.Deliver(t, fixture.Pack("later", "later", "u_1", 1))
	var tree fingerprint.Tree
	require.NoError(t, w.Log.ReadUntil(ctx, 1, applied, func(m events.Message) error {
		tree.Append(fingerprint.Leaf(m))
		return nil
	}))
	path, m := exported(ctx, t, tables, func(e *Export) {
		e.Root = func(ctx context.Context, logID string, until uint64) (*LogRoot, error) {
			require.Zero(t, w.Number(ctx, t, "select count(*) from pg_stat_activity where state = 'idle in transaction' and datname = current_database()"),
				"a promotion does not wait while the log is read")
			covered, err := proof.Cover(ctx, w.Log, logID, until)
			return &LogRoot{covered.Size, covered.Root.String(), covered.First}, err
		}
	})
	require.Equal(t, &LogRoot{applied, tree.Root().String(), 1}, m.LogRoot)
	written, err := os.ReadFile(filepath.Join(path, manifestName))
	require.NoError(t, err)
	require.Contains(t, string(written), tree.Root().String())

	_, m = exported(ctx, t, tables, func(e *Export) {
		e.Root = func(context.Context, string, uint64) (*LogRoot, error) { return nil, nil }
	})
	require.Nil(t, m.LogRoot, "an export without it is whole, too")
}

func TestTwoExportsOfOnePositionHaveTheSameBytes(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 600)
	require.NoError(t, stop())
	tables := w.Open(ctx, t, store.LiveSchema)
	_, err := w.DB.Exec(ctx, `select wallet.spend(user_id, 1, 'k' || user_id, 'a note') from portal.credits
		where balance > 0`)
	require.NoError(t, err)
	for _, format := range Formats {
		t.Run(format, func(t *testing.T) {
			as := func(e *Export) { e.Format = format }
			one, m := exported(ctx, t, tables, as)
			other, again := exported(ctx, t, tables, as)
			require.Equal(t, m, again)
			require.Equal(t, sums(t, one, m), sums(t, other, again))
			require.Equal(t, w.Head(ctx, t), m.newest())
			for _, file := range m.Files {
				count := "select count(*) from portal." + file.Table
				if name, of := strings.CutPrefix(file.Table, "wallet_"); of {
					count = "select count(*) from wallet." + name
				}
				if file.Table != "entitlement" && file.Table != "credit_balance" { // their rows depend on the clock
					require.Equal(t, w.Number(ctx, t, count), file.Rows, file.Table)
				}
				require.NotEmpty(t, file.Comment)
				for _, column := range file.Columns {
					require.NotEmpty(t, column.Comment, "%s.%s", file.Table, column.Name)
				}
			}
		})
	}
}

// The export sees one moment, although events are applied meanwhile, and the tables lose their name, as in a promotion. A
// promotion itself waits for the snapshot, and is refused.
func TestAnExportDuringLoadAndARenamingIsOfOneMoment(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 600)
	tables := w.Open(ctx, t, store.LiveSchema)
	before := w.Head(ctx, t)
	next := w.Rebuild(t, w.Open(ctx, t, "portal_next"), 0)
	require.NoError(t, next.Run(ctx, before))
	path, m := exported(ctx, t, tables, asCSV, func(e *Export) {
		e.opened = func() {
			w.Log.Deliver(t, fixture.Pack("late", "late", "u_late", 50))
			w.WaitApplied(ctx, t)
			_, _, err := (&promote.Command{Rebuild: next}).Run(ctx)
			require.ErrorIs(t, err, promote.ErrNotPromoted)
			require.NoError(t, stop())
			_, err = w.DB.Exec(ctx, "alter schema portal rename to portal_prev; alter schema portal_next rename to portal")
			require.NoError(t, err)
		}
	})
	require.Equal(t, before, m.newest())
	events := len(records(t, path, "processed_event")) + len(records(t, path, "duplicate_event"))
	require.EqualValues(t, before, events)
	granted := records(t, path, "credit_grant")
	require.Positive(t, sum(t, granted, "granted"))
	delta := sum(t, records(t, path, "credit_ledger"), "delta")
	require.Equal(t, delta, sum(t, granted, "granted")-sum(t, granted, "reversed"))
	for _, payment := range records(t, path, "payment") {
		require.NotEqual(t, "u_late", payment["user_id"])
	}
}

func TestAnExportAsOfThePastIsThatOfARebuild(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 600)
	require.NoError(t, stop())
	seq := uint64(300)
	open := func(schema string) *store.Store {
		s, err := store.Open(ctx, store.Config{DSN: w.DSN, Schema: schema, Owner: "command"})
		require.NoError(t, err)
		t.Cleanup(s.Close)
		return s
	}
	kept := rebuild.Command{Rebuild: w.Rebuild(t, open("portal_january"), 0), UntilSeq: &seq}
	_, err := kept.Run(ctx)
	require.NoError(t, err)
	want, wanted := exported(ctx, t, kept.Store, func(e *Export) { e.Spends = false })

	w.Open(ctx, t, store.ExportSchema) // a killed process has left it
	past := rebuild.Command{Rebuild: w.Rebuild(t, open(store.ExportSchema), 0), UntilSeq: &seq}
	require.NoError(t, past.Use(ctx, func(ctx context.Context, built store.Schema) error {
		got, m := exported(ctx, t, past.Store, func(e *Export) { e.Spends = false })
		require.Equal(t, sums(t, want, wanted), sums(t, got, m))
		require.Equal(t, seq, m.Position)
		return nil
	}))
	require.Zero(t, w.Number(ctx, t, "select count(*) from pg_namespace where nspname = 'portal_export'"))
	require.Zero(t, w.Number(ctx, t, "select count(*) from payfold.schema_state where schema_name = 'portal_export'"))
}

// hostile are texts that break a file which is written without care.
var hostile = []string{
	`a"b""c`, "line\nbreak\r\nand ,comma", "=1+1", "null", "NULL", `\N`, "Zoë 名😀\u202e", "'; drop table payment; --", " space ",
}

func TestHostileTextsAndNullsComeBack(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, `insert into processed_event
		(event_id, stream_seq, action, outcome, user_id, event_type, occurred_at, received_at)
		select 'e' || n, n, 'none', 'ignored', text, case when n % 2 = 0 then '' end,
			'2026-01-02 03:04:05.000006+00', 'epoch'
		from unnest($1::text[]) with ordinality as one (text, n)`, hostile)
	require.NoError(t, err)
	path, _ := exported(ctx, t, s, asCSV)
	rows := records(t, path, "processed_event")
	for i, text := range hostile {
		require.Equal(t, strings.ReplaceAll(text, "\r\n", "\n"), rows[i]["user_id"]) // Go's reader does that
		require.Equal(t, "2026-01-02T03:04:05.000006Z", rows[i]["occurred_at"])
	}
	text, err := os.ReadFile(filepath.Join(path, "processed_event.csv"))
	require.NoError(t, err)
	require.True(t, bytes.HasPrefix(text, []byte("event_id,stream_seq,provider,")))
	require.Contains(t, string(text), "\r\n\"e1\",1,,,\"none\",,\"a\"\"b\"\"\"\"c\",,,\"ignored\",,,")
	require.Contains(t, string(text), "\r\n\"e2\",2,,\"\",\"none\",,\"line\nbreak\r\nand ,comma\",,")

	path, _ = exported(ctx, t, s)
	content, err := os.ReadFile(filepath.Join(path, "processed_event.parquet"))
	require.NoError(t, err)
	type event struct {
		User     string    `parquet:"user_id"`
		Type     *string   `parquet:"event_type"`
		Provider *string   `parquet:"provider"`
		At       time.Time `parquet:"occurred_at,timestamp(microsecond:utc)"`
	}
	file := parquet.NewGenericReader[event](bytes.NewReader(content))
	defer file.Close()
	events := make([]event, len(hostile)+1)
	n, err := file.Read(events)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, len(hostile), n)
	for i, text := range hostile {
		require.Equal(t, text, events[i].User)
		require.Nil(t, events[i].Provider)
		require.Equal(t, i%2 == 1, events[i].Type != nil)
		require.True(t, events[i].At.Equal(time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)))
	}
}

func TestRightsAreThoseOfTheMoment(t *testing.T) {
	t.Parallel()
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 600)
	require.NoError(t, stop())
	tables := w.Open(ctx, t, store.LiveSchema)
	active := func(at time.Time) (count int64) {
		path, m := exported(ctx, t, tables, asCSV, func(e *Export) { e.Moment = at })
		require.True(t, m.Moment.Equal(at))
		for _, right := range records(t, path, "entitlement") {
			if right["active"] == "true" {
				count++
			}
		}
		return count
	}
	now := w.Number(ctx, t, "select count(*) from portal.entitlement where active")
	require.Equal(t, now, active(time.Now().UTC().Truncate(time.Microsecond)))
	require.Less(t, active(time.Now().AddDate(900, 0, 0).UTC().Truncate(time.Microsecond)), active(time.Unix(0, 0).UTC()))
}

func TestARoleThatOnlyReadsCanExport(t *testing.T) {
	projector, portal := fixture.AsProjector(t.Context(), t)
	fixture.Apply(t.Context(), t, projector, 10)
	dsn := strings.Replace(portal, "payfold_portal", "payfold_console", 1)
	console, err := store.Open(t.Context(), store.Config{DSN: dsn})
	require.NoError(t, err)
	t.Cleanup(console.Close)
	_, m := exported(t.Context(), t, console)
	require.EqualValues(t, 10, m.Position)
}

func TestAFolderWithFilesIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.Mkdir(path, 0o700))
	folder, err := NewFolder(path) // empty
	require.NoError(t, err)
	_, err = NewFolder(path)
	require.ErrorContains(t, err, "another export writes")
	folder.Close()
	require.NoDirExists(t, path+".partial")
	require.NoError(t, os.WriteFile(filepath.Join(path, "notes.txt"), nil, 0o600))
	_, err = NewFolder(path)
	require.ErrorContains(t, err, "is not empty")

	other := filepath.Join(t.TempDir(), "out")
	require.NoError(t, os.Mkdir(other+".partial", 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(other+".partial", "notes.txt"), nil, 0o600))
	_, err = NewFolder(other)
	require.ErrorContains(t, err, "notes.txt")
	require.FileExists(t, filepath.Join(other+".partial", "notes.txt"))
}

func TestATimeWithoutAnEndIsNamed(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Applied(t, fixture.Pack("e1", "p1", "u1", 1))
	_, err := s.Pool().Exec(ctx, "update credit_ledger set expires_at = 'infinity'")
	require.NoError(t, err)
	for _, format := range Formats {
		folder, err := NewFolder(filepath.Join(t.TempDir(), "out"))
		require.NoError(t, err)
		_, err = Export{Tables: s, Folder: folder, Format: format}.Run(ctx)
		folder.Close()
		require.ErrorContains(t, err, "export credit_ledger: column expires_at has the value infinity", format)
	}
}
