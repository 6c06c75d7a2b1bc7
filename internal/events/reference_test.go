package events

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/reference.md names every key of a body that is read.
func TestTheReferenceNamesEveryKeyThatIsRead(t *testing.T) {
	t.Parallel()
	reference, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	for _, file := range []string{"envelope.go", "body.go"} {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		keys := regexp.MustCompile(`case "([^"]+)":`).FindAllSubmatch(code, -1)
		require.NotEmpty(t, keys)
		for _, key := range keys {
			require.Regexp(t, "[`.]"+string(key[1])+"[`.]", string(reference), "%s reads it", file)
		}
	}
}
