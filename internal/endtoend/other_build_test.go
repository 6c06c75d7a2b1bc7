package endtoend

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/testenv"
)

var building sync.Mutex

// otherBuild builds, once, a projector from files that differ from the repository's: the rules
// have the version next, and there is one more table, reversals_daily.
func otherBuild(t *testing.T) string {
	t.Helper()
	binary := testenv.Binary(t, "projector") + "-other"
	building.Lock()
	defer building.Unlock()
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	dir, root := t.TempDir(), repository(t)
	replace := map[string]string{}
	overlay := func(file, text string) {
		replace[filepath.Join(root, file)] = filepath.Join(dir, fmt.Sprint(len(replace)))
		require.NoError(t, os.WriteFile(replace[filepath.Join(root, file)], []byte(text), 0o600))
	}
	for file, change := range otherTexts {
		text, err := os.ReadFile(filepath.Join(root, file))
		require.NoError(t, err)
		require.Contains(t, string(text), change[0], file)
		overlay(file, strings.Replace(string(text), change[0], change[1], 1))
	}
	for file, text := range otherFiles {
		overlay(file, text)
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay.json"), list, 0o600))
	output, err := exec.Command("go", "build", "-trimpath", "-ldflags=-w", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "github.com/payfold/payfold/cmd/projector").CombinedOutput()
	require.NoError(t, err, string(output))
	return binary
}

func repository(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	return root
}

// otherTexts are the texts of files that are replaced by another.
var otherTexts = map[string][2]string{
	"internal/projections/rules.go":   {`const RulesVersion = "` + projections.RulesVersion + `"`, `const RulesVersion = "next"`},
	"internal/projections/state.go":   {"\tRevenue       ", "\tReversalDays  reversalDays\n\tRevenue       "},
	"internal/projections/fold.go":    {"\t\"revenue_daily\": ", "\t\"reversals_daily\": func(s *State, f *step, outcome Outcome) { countReversals(&s.ReversalDays, f, outcome) },\n\t\"revenue_daily\": "},
	"internal/tables/declarations.go": {"\tRevenueByDay,", "\tRevenueByDay, ReversalsByDay,"},
}

// otherFiles are new.
var otherFiles = map[string]string{
	"internal/projections/reversals_daily.go": `package projections

import "time"

// ReversalDay is how many reversals took effect on one day.
type ReversalDay struct {
	Day       time.Time ` + "`db:\"day,key\"`" + `
	Reversals int64     ` + "`db:\"reversals\"`" + `
}

type reversalDays = Rows[time.Time, ReversalDay]

func countReversals(days *reversalDays, f *step, outcome Outcome) {
	if outcome != Applied || f.Action != "reversal" {
		return
	}
	day := f.OccurredAt.Truncate(24 * time.Hour)
	row, _ := days.Get(day)
	row.Day, row.Reversals = day, row.Reversals+1
	days.Put(day, row)
}
`,
	"internal/tables/reversals_daily.sql": `create table reversals_daily (
  day       timestamptz not null primary key,
  reversals bigint not null
)
`,
	"internal/tables/reversals_daily.go": `package tables

import "github.com/payfold/payfold/internal/projections"

// ReversalsByDay is few rows.
var ReversalsByDay = &Table[projections.ReversalDay]{
	Definition: Definition{Name: "reversals_daily", Extra: true},
	rows:       func(s *projections.State) stateRows[projections.ReversalDay] { return &s.ReversalDays },
	put:        func(s *projections.State, row *projections.ReversalDay) { s.ReversalDays.Load(row.Day, row) },
}
`,
}
