package wait

import (
	"bytes"
	"sync"
)

// Buffer keeps what is written to it, such as a log that a test reads meanwhile. The zero value is
// empty. It is safe for concurrent use.
type Buffer struct {
	mu      sync.Mutex
	text    bytes.Buffer
	changed chan struct{} // nil: nobody waits for a change
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.text.Write(p)
}

// String returns all that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Reset forgets what was written.
func (b *Buffer) Reset() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text.Reset()
}

// Watch returns all that was written, and a channel that the next Write closes.
func (b *Buffer) Watch() (string, <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed == nil {
		b.changed = make(chan struct{})
	}
	return b.text.String(), b.changed
}
