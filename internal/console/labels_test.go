package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEachCellOfEachTableHasTheHeadingOfItsColumn(t *testing.T) {
	t.Parallel()
	files, err := sources.ReadDir("templates")
	require.NoError(t, err)
	tables := 0
	for _, file := range files {
		text, err := sources.ReadFile("templates/" + file.Name())
		require.NoError(t, err)
		for _, table := range tableParts.FindAllString(labelled(string(text)), -1) {
			tables++
			head, body, found := strings.Cut(table, "</thead>")
			require.True(t, found, "%s: a table without a head", file.Name())
			columns := len(headings.FindAllString(head, -1))
			for _, row := range bodyRows.FindAllString(body, -1) {
				require.Len(t, cells.FindAllString(row, -1), columns, "%s: %s", file.Name(), row)
				require.Equal(t, columns, strings.Count(row, "<td data-label="), "%s: %s", file.Name(), row)
			}
		}
	}
	require.NotZero(t, tables)
}
