package eventlog

// variant is how the log is made durable. Only builds for tests and benchmarks
// change it (variant_synctest.go).
var variant = struct {
	always bool                                              // the server syncs message by message
	never  bool                                              // as it likes
	wrap   func(flush func(uint64) error) func(uint64) error // what is done for a flush
	around func(append func())                               // what is done for an append
}{
	wrap:   func(flush func(uint64) error) func(uint64) error { return flush },
	around: func(append func()) { append() },
}
