package wallet_test

import (
	"os"
	"testing"

	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestMain(m *testing.M) { os.Exit(fixture.RunProperties(m)) }
