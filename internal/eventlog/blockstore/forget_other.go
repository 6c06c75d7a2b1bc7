//go:build !linux

package blockstore

func forget(string) {}
