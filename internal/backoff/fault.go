package backoff

// Fault remembers the last fault, so that one that repeats is logged once. The zero value is ready.
// Not for concurrent use.
type Fault struct{ last string }

// IsNew reports whether err has another text than the fault of the last call, or is the first
// since Clear.
func (f *Fault) IsNew(err error) bool {
	isNew := err.Error() != f.last
	f.last = err.Error()
	return isNew
}

// Clear makes the next fault new. It reports whether there was a fault.
func (f *Fault) Clear() bool {
	was := f.last != ""
	f.last = ""
	return was
}
