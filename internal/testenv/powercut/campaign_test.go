//go:build powercut

package powercut_test

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/payfold/payfold/internal/testenv"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testenv.RemovePrograms()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			panic(err)
		}
	}
	os.Exit(code)
}

const cutsPerDisk = 15 // before a new, empty one

// TestNothingConfirmedIsLostWithThePower cuts the power POWER_CUTS times, by default 20.
// POWER_SEED is the seed, by default the time.
func TestNothingConfirmedIsLostWithThePower(t *testing.T) {
	cuts, seed := testenv.Number(t, "POWER_CUTS", 20), uint64(testenv.Number(t, "POWER_SEED", int(time.Now().UnixNano()>>16)))
	t.Logf("POWER_CUTS=%d POWER_SEED=%d", cuts, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	var total counts
	for total.cuts < cuts {
		m := newMachine(t, random)
		for n := 0; n < cutsPerDisk && total.cuts < cuts && m.blocks < blocksPerDisk; n++ {
			require.NoError(t, m.runUntilCut(&total))
		}
		require.NoError(t, m.restartAndCheck(&total))
		m.powerOff()
		m.disk = nil
	}
	t.Logf("%+v", total)
}

// TestWithoutSyncsThePowerTakesConfirmedEvents shows that the test above can fail, with a
// disk that ignores every fsync of the log's blocks.
func TestWithoutSyncsThePowerTakesConfirmedEvents(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 0))
	var total counts
	for range 20 {
		m := newMachine(t, random)
		m.createLog() // with its fsyncs
		m.ignored = ".blk"
		m.disk.IgnoreSyncs(m.ignored)
		var err error
		for range 3 {
			if err = m.runUntilCut(&total); err != nil {
				break
			}
		}
		if err == nil {
			err = m.restartAndCheck(&total)
		}
		m.powerOff()
		if err != nil {
			t.Logf("after %d cuts: %v", total.cuts, err)
			return
		}
	}
	t.Fatal("nothing was lost: the disk keeps writes without an fsync")
}
