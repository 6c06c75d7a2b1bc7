package main

import (
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

// A product of which the catalogue has one offer grants the same at any time. Of several, the offer of the purchase
// counts, so somebody must say when that was.
func TestACompletedPurchaseHasTheTimeOfItsOffer(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "catalogue.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 1\nproducts:\n  tool: {kind: pro}\n  pack:\n"+
		"  - {from: 2026-01-01, kind: one_time, credits: 100}\n"+
		"  - {from: 2026-03-01, kind: one_time, credits: 120}\n"), 0o600))
	complete := func(args ...string) (time.Time, error) {
		var grammar struct {
			Complete completeCommand `cmd:""`
		}
		args = append([]string{
			"complete", "tran_1", "--user=u_1", "--reason=x",
			"--payfold-event-secret=whsec_0123456789abcdef", "--catalogue-file=" + file,
		}, args...)
		_, err := cli.Parse(&grammar, "ingest", "", args, io.Discard, io.Discard)
		return grammar.Complete.event.Time, err
	}
	january := time.Date(2026, 1, 15, 10, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		args  []string
		time  time.Time
		fault string
	}{
		{args: nil},
		{args: []string{"--product=tool"}},
		{args: []string{"--product=pack", "--bought=2026-01-15T10:00:00Z"}, time: january},
		{args: []string{"--bought=2026-01-15T11:00:00+01:00"}, time: january},
		{
			args:  []string{"--product=pack"},
			fault: "the catalogue has several offers of the product pack: --bought DATE says when it was bought",
		},
		{args: []string{"--product=pack", "--bought=2025-12-31"}, fault: `the catalogue does not have the product "pack"`},
		{args: []string{"--product=pack", "--bought=2099-01-01"}, fault: "--bought is 2099-01-01, which is in the future"},
		{args: []string{"--product=pack", "--bought=soon"}, fault: `--bought is "soon", which is neither a day`},
		{args: []string{"--product=tool", "--units=5"}},
		{args: []string{"--product=tool", "--units=-1"}, fault: "--units is -1, must be from 1 to 1000000000000"},
		{args: []string{"--product=tool", "--units=1000000000000"}},
		{
			args:  []string{"--product=tool", "--units=1000000000001"},
			fault: "--units is 1000000000001, must be from 1 to 1000000000000",
		},
		{args: []string{"--product=pack", "--bought=2026-01-15T10:00:00Z", "--units=10000000000"}, time: january},
		{
			args:  []string{"--product=pack", "--bought=2026-01-15", "--units=10000000001"},
			fault: "--units is 10000000001, must be from 1 to 10000000000",
		},
		{args: []string{"--units=5"}, fault: "--units needs --product"},
	} {
		at, err := complete(c.args...)
		if c.fault != "" {
			require.ErrorContains(t, err, c.fault, "%v", c.args)
			require.NotContains(t, err.Error(), "\n", "one fault")
			continue
		}
		require.NoError(t, err, "%v", c.args)
		require.Equal(t, c.time, at, "%v", c.args)
	}
}
