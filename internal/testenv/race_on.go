//go:build race

package testenv

// buildFlags: tests under the race detector run programs under it, too.
var buildFlags = []string{"-race"}
