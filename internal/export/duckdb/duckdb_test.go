package duckdb

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/export"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// ask runs statements in one DuckDB, and returns the rows of each.
func ask(t *testing.T, statements ...string) (results [][][]any) {
	t.Helper()
	var input strings.Builder
	for _, sql := range statements {
		require.NoError(t, json.NewEncoder(&input).Encode(sql))
	}
	node := exec.Command("node", "ask.mjs")
	node.Stdin, node.Stderr = strings.NewReader(input.String()), os.Stderr
	output, err := node.Output()
	require.NoError(t, err, "make test-export says what it needs")
	decoder := json.NewDecoder(strings.NewReader(string(output)))
	for range statements {
		var rows [][]any
		require.NoError(t, decoder.Decode(&rows))
		results = append(results, rows)
	}
	return results
}

// from is how DuckDB reads a file, in the words of docs/analysts.md.
func from(dir string, file export.File) string {
	path := filepath.Join(dir, file.Name)
	if !strings.HasSuffix(path, ".csv") {
		return "'" + path + "'"
	}
	columns := make([]string, len(file.Columns))
	for i, column := range file.Columns {
		columns[i] = fmt.Sprintf("'%s': '%s'", column.Name, types[column.Type])
	}
	return fmt.Sprintf("read_csv('%s', header = true, allow_quoted_nulls = false, columns = {%s})",
		path, strings.Join(columns, ", "))
}

// types are how DuckDB names the types of Postgres.
var types = map[string]string{
	"text": "VARCHAR", "bigint": "BIGINT", "boolean": "BOOLEAN", "timestamp with time zone": "TIMESTAMP WITH TIME ZONE",
}

// digest is a list of expressions, for DuckDB and Postgres alike: of each column how many values it has, and the sum of
// its numbers, of the bytes of its texts, or of the seconds of its times.
func digest(file export.File, octets string) string {
	all := []string{"count(*)::text"}
	for _, column := range file.Columns {
		name := `"` + column.Name + `"`
		all = append(all, "count("+name+")::text")
		value := map[string]string{
			"text": octets + "(" + name + ")", "bigint": name, "boolean": name + "::int",
			"timestamp with time zone": "floor(extract(epoch from " + name + "))::bigint",
		}[column.Type]
		all = append(all, "sum("+value+")::text")
	}
	return strings.Join(all, ", ")
}

func TestDuckDBReadsWhatPostgresHas(t *testing.T) {
	ctx, w := world.New(t)
	stop := w.Project(ctx, t, 600)
	require.NoError(t, stop())
	_, err := w.DB.Exec(ctx, `insert into portal.processed_event
		(event_id, stream_seq, action, outcome, user_id, event_type, occurred_at, received_at)
		values ('h1', 100001, 'none', 'ignored', E'a"b,c\nd\r\ne 名😀', '', '2026-01-02 03:04:05.000006+00', 'epoch'),
			('h2', 100002, 'none', 'ignored', 'NULL', null, 'epoch', 'epoch')`)
	require.NoError(t, err)
	_, err = w.DB.Exec(ctx, "select wallet.spend(user_id, 1, 'k' || user_id) from portal.credits where balance > 0")
	require.NoError(t, err)
	tables := w.Open(ctx, t, store.LiveSchema)
	for _, format := range export.Formats {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "out")
			folder, err := export.NewFolder(path)
			require.NoError(t, err)
			defer folder.Close()
			manifest, err := export.Export{Tables: tables, Folder: folder, Format: format, Spends: true}.Run(ctx)
			require.NoError(t, err)
			for _, file := range manifest.Files {
				if file.Table == "entitlement" || file.Table == "credit_balance" { // by Postgres' clock
					continue
				}
				table := "portal." + file.Table
				if name, of := strings.CutPrefix(file.Table, "wallet_"); of {
					table = "wallet." + name
				}
				var want [][]any
				var text string
				sql := "select json_build_array(json_build_array(" + digest(file, "octet_length") + ")) from " + table
				require.NoError(t, w.DB.QueryRow(ctx, sql).Scan(&text))
				require.NoError(t, json.Unmarshal([]byte(text), &want))
				in := from(path, file)
				got := ask(t, "select "+digest(file, "strlen")+" from "+in,
					"select column_type from (describe select * from "+in+")")
				require.Equal(t, want, got[0], file.Table)
				for i, column := range file.Columns {
					require.Equal(t, types[column.Type], got[1][i][0], "%s.%s", file.Table, column.Name)
				}
			}
			for _, file := range manifest.Files {
				if file.Table == "processed_event" {
					rows := ask(t, "select user_id, event_type, provider, epoch_us(occurred_at)::text from "+from(path, file)+
						" where event_id in ('h1', 'h2') order by event_id")[0]
					require.Equal(t, [][]any{{"a\"b,c\nd\r\ne 名😀", "", nil, "1767323045000006"}, {"NULL", nil, nil, "0"}}, rows)
				}
			}
		})
	}
}
