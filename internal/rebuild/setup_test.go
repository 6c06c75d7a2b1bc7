package rebuild

import (
	"flag"
	"os"
	"testing"

	"github.com/payfold/payfold/internal/testenv"
)

// checks of each property, by default: each of them folds a log into real tables.
// make test-properties has many more.
const checks = "40"

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", checks); err != nil {
		panic(err)
	}
	os.Exit(testenv.RunWithPostgres(testenv.QuickLogins(m)))
}
