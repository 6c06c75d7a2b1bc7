package export

import (
	"context"
	"crypto/sha256"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// exported exports the tables of s to a new folder, which it returns.
func exported(ctx context.Context, t *testing.T, s *store.Store, change ...func(*Export)) (string, Manifest) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "out")
	folder, err := NewFolder(path)
	require.NoError(t, err)
	defer folder.Close()
	e := Export{Tables: s, Folder: folder, Format: "parquet", Spends: true}
	for _, c := range change {
		c(&e)
	}
	manifest, err := e.Run(ctx)
	require.NoError(t, err)
	require.NoDirExists(t, path+".partial")
	return path, manifest
}

func asCSV(e *Export) { e.Format = "csv" }

// sums returns the checksum of each file, and checks those of the manifest.
func sums(t *testing.T, path string, m Manifest) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(path)
	require.NoError(t, err)
	require.Len(t, entries, len(m.Files)+1)
	found := map[string]string{}
	for _, entry := range entries {
		content, err := os.ReadFile(filepath.Join(path, entry.Name()))
		require.NoError(t, err)
		found[entry.Name()] = fmt.Sprintf("%x", sha256.Sum256(content))
	}
	for _, file := range m.Files {
		require.Equal(t, found[file.Name], file.SHA256, file.Name)
	}
	return found
}

// records reads a file of CSV.
func records(t *testing.T, path, table string) (all []map[string]string) {
	t.Helper()
	file, err := os.Open(filepath.Join(path, table+".csv"))
	require.NoError(t, err)
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	require.NoError(t, err)
	for _, row := range rows[1:] {
		record := map[string]string{}
		for i, name := range rows[0] {
			record[name] = row[i]
		}
		all = append(all, record)
	}
	return all
}

func sum(t *testing.T, rows []map[string]string, column string) (total int64) {
	t.Helper()
	for _, row := range rows {
		n, err := strconv.ParseInt(row[column], 10, 64)
		require.NoError(t, err)
		total += n
	}
	return total
}
