package testenv

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// Busy matches the errors of a promotion that only say that the machine is busy. It can be tried again.
var Busy = regexp.MustCompile("it took longer than|the live tables are busy|not promoted: (the last events were not folded within|open transactions would see|.*lock timeout)")

// Promote starts a program that promotes, again while the machine is busy, and returns its output.
func Promote(t testing.TB, start func() *Program) string {
	t.Helper()
	for {
		p := start()
		code := p.Exit(t)
		if code == 1 && Busy.MatchString(p.Output()) {
			continue
		}
		require.Zero(t, code, p.Output())
		return p.Output()
	}
}
