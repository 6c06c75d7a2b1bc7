package testenv

import (
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

// Number returns a number of the environment, or otherwise if the variable is not set.
func Number(t testing.TB, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	number, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return number
}
