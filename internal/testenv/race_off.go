//go:build !race

package testenv

var buildFlags []string
