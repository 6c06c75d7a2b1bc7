package live

import (
	"bytes"
	"sync"

	"github.com/payfold/payfold/internal/events"
)

// dropped has the newest message that was dropped because its partition belongs to another
// projector. The zero value has no message. It is safe for concurrent use.
type dropped struct {
	mu      sync.Mutex
	message events.Message
}

// add copies the message.
func (d *dropped) add(m events.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m.Body = append(d.message.Body[:0], m.Body...)
	d.message = m
}

// newest returns the message; its sequence is 0 if there is none.
func (d *dropped) newest() events.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := d.message
	m.Body = bytes.Clone(m.Body)
	return m
}
