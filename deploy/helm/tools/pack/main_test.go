package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"
)

const folder = "../../payfold"

func TestAPackedChartIsTheChartWithAnotherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, run([]string{folder}, "1.2.3", "2026-01-02T03:04:05Z", dir))
	packed, err := loader.Load(filepath.Join(dir, "payfold-1.2.3.tgz"))
	require.NoError(t, err)
	want, err := loader.LoadDir(folder)
	require.NoError(t, err)
	want.Metadata.Version, want.Metadata.AppVersion = "1.2.3", "1.2.3"
	require.Equal(t, want.Metadata, packed.Metadata)
	require.Equal(t, want.Values, packed.Values)
	require.JSONEq(t, string(want.Schema), string(packed.Schema))
	require.Equal(t, texts(want.Templates), texts(packed.Templates))
	require.Equal(t, texts(want.Files), texts(packed.Files))
	require.Contains(t, texts(packed.Files)["files/rules.yaml"], "payfold-settings")
}

func texts(files []*chart.File) map[string]string {
	all := map[string]string{}
	for _, file := range files {
		all[file.Name] = string(file.Data)
	}
	return all
}

func TestTheSameChartGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	first, second := t.TempDir(), t.TempDir()
	modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	require.NoError(t, pack(folder, "1.2.3", modified, first))
	require.NoError(t, pack(folder, "1.2.3", modified, second))
	one, err := os.ReadFile(filepath.Join(first, "payfold-1.2.3.tgz"))
	require.NoError(t, err)
	other, err := os.ReadFile(filepath.Join(second, "payfold-1.2.3.tgz"))
	require.NoError(t, err)
	require.Equal(t, one, other)
}

func TestWhatCannotBePackedIsRefused(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, run(nil, "1.2.3", "2026-01-02T03:04:05Z", t.TempDir()), "one chart")
	require.ErrorContains(t, run([]string{folder}, "1.2.3", "today", t.TempDir()), "today")
	require.ErrorContains(t, run([]string{folder}, "newest", "2026-01-02T03:04:05Z", t.TempDir()), "newest")
}
