//go:build race

package testenv

// buildFlags: where tests run with the race detector, programs do, too.
var buildFlags = []string{"-race"}
