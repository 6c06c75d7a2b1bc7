package tables

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/projections"
)

// The tables of an older release are made again only if RulesVersion has changed.
func TestChangedTablesNeedAnotherRulesVersion(t *testing.T) {
	t.Parallel()
	definitions := fmt.Sprint(Indexes)
	for _, table := range All {
		if about := table.About(); !about.Extra {
			definitions += about.DDL()
		}
	}
	require.Equal(t, "rules 3, tables 28b288b3", fmt.Sprintf("rules %s, tables %.4x", projections.RulesVersion, sha256.Sum256([]byte(definitions))),
		"if a release has this projections.RulesVersion, change it; then put the actual value here")
}
