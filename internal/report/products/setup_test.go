package products_test

import (
	"os"
	"testing"

	"github.com/payfold/payfold/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }
