package console

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePagesExplainWordsAsTheGlossaryDoes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/glossary.md")
	require.NoError(t, err)
	documented := map[string]string{}
	for line := range strings.Lines(strings.ReplaceAll(string(text), "`", "")) {
		if cells := strings.Split(line, "|"); len(cells) == 4 {
			for word := range strings.SplitSeq(cells[1], ",") {
				documented[strings.TrimSpace(word)] = strings.TrimSpace(cells[2])
			}
		}
	}
	for word, says := range glossary {
		require.Equal(t, documented[word], says, word)
	}
	for _, word := range []string{"Fold id", "Partitions", "seq"} {
		_, err := meaning(word)
		require.NoError(t, err)
	}
	_, err = meaning("nothing")
	require.Error(t, err)
}
