package archive

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive/segment"
	"github.com/payfold/payfold/internal/archive/storage"
)

func TestWhichSegmentsAreMerged(t *testing.T) {
	t.Parallel()
	const kb = 1 << 10
	for name, c := range map[string]struct {
		sizes []int64
		want  int
	}{
		"nothing":                       {nil, 0},
		"alike":                         {[]int64{kb, kb, kb, kb, kb, kb, kb, kb}, 8},
		"small ones":                    {[]int64{60 * kb, kb, 30 * kb, kb}, 4},
		"not behind a large one":        {[]int64{20 << 20, kb, kb}, 2},
		"large ones join equal ones":    {[]int64{1 << 20, 300 * kb, 300 * kb}, 3},
		"no segment becomes too large":  {[]int64{40 << 20, 20 << 20, 10 << 20}, 2},
		"a full one is never merged":    {[]int64{64 << 20}, 1},
		"behind full ones it goes on":   {[]int64{64 << 20, kb, kb, kb}, 3},
		"a large one is taken at first": {[]int64{kb, kb, 30 << 20}, 3},
	} {
		var segments []*Info
		for _, size := range c.sizes {
			segments = append(segments, &Info{Bytes: size})
		}
		require.Equal(t, c.want, toMerge(segments, 64<<20), name)
	}
}

// What the names say decides which segments are read: merged ones instead of their parts.
func TestMergedSegmentsHideTheirParts(t *testing.T) {
	t.Parallel()
	c := newCandidates([]string{segment.PartName(1), segment.PartName(5), segment.MergedName(1, 8), segment.PartName(9), segment.MergedName(1, 4), "a stranger's file"})
	visible, replaced := c.split()
	require.Equal(t, []string{segment.MergedName(1, 8), segment.PartName(9)}, visible)
	require.ElementsMatch(t, []string{segment.PartName(1), segment.PartName(5), segment.MergedName(1, 4)}, replaced)
	require.Equal(t, []string{segment.MergedName(1, 8), segment.MergedName(1, 4), segment.PartName(1)}, c.holding(1))
	require.Equal(t, []string{segment.PartName(9)}, c.holding(9))
	require.Equal(t, []string{segment.PartName(9), segment.PartName(5), segment.PartName(1)}, c.holding(10))
	require.Equal(t, []uint64{1, 5, 0}, []uint64{c.first(), c.after(1), c.after(9)})
	require.True(t, c.reaches(9))
	require.False(t, c.reaches(10))
}

// Archives are kept for longer than builds.
func TestASegmentOfFormat2IsReadForEver(t *testing.T) {
	t.Parallel()
	const logID, name = "60f75565c3167fca0d30a808c85e6ffe", "00000000000000000001.seg"
	kept, err := os.ReadFile(filepath.Join("../../examples/read-segment/testdata", name))
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, logID), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, logID, name), kept, 0o600))
	opened, err := Open(t.Context(), &storage.Folder{Root: root}, logID)
	require.NoError(t, err)
	require.NoError(t, opened.Check(t.Context(), func(fault error) { require.NoError(t, fault) }))
	var ids []string
	require.NoError(t, opened.Read(t.Context(), 1, 1, func(r Record) error {
		ids = append(ids, r.Message().ID)
		return nil
	}))
	require.Equal(t, []string{"evt_first_1"}, ids)
}
