package backoff

import "regexp"

// Fault remembers the last fault, so that one that repeats is logged once. The zero value is ready.
// Not for concurrent use.
type Fault struct{ last string }

// ownPort is the port on this side of a connection, as in "read tcp 10.0.0.1:40112->10.0.0.2:5432".
var ownPort = regexp.MustCompile(`:\d+->`)

// IsNew reports whether err has another text than the fault of the last call, or is the first
// since Clear. The port on this side of a connection does not count: each attempt has a new one.
func (f *Fault) IsNew(err error) bool {
	text := ownPort.ReplaceAllString(err.Error(), "->")
	isNew := text != f.last
	f.last = text
	return isNew
}

// Clear makes the next fault new. It reports whether there was a fault.
func (f *Fault) Clear() bool {
	was := f.last != ""
	f.last = ""
	return was
}
