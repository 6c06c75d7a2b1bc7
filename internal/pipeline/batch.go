package pipeline

import "github.com/payfold/payfold/internal/events"

// A batch is small enough for a core's cache. Its size in bytes is limited, too, because
// bodies can be large.
const (
	decodeMessages = 500
	decodeBytes    = 2 << 20
)

// Batch has consecutive messages. Its memory is reused for later batches: its allocation and
// garbage collection would take a quarter of the CPU time.
type Batch struct {
	messages []events.Message
	bodies   []byte         // the bodies of messages, one after the other
	Events   []events.Event // from the Decoder
	Digest   []byte         // of the last message
	decoded  chan error
}

// newBatch returns a batch with room for this many messages of the usual length.
func newBatch(messages uint64) *Batch {
	const usual = 1600 // bytes of a body
	return &Batch{
		messages: make([]events.Message, 0, messages), bodies: make([]byte, 0, usual*messages),
		Events: make([]events.Event, 0, messages), decoded: make(chan error, 1),
	}
}

func (b *Batch) add(m events.Message) {
	begin := len(b.bodies)
	b.bodies = append(b.bodies, m.Body...)
	m.Body = b.bodies[begin:len(b.bodies):len(b.bodies)]
	b.messages = append(b.messages, m)
}

// Seq is the sequence of the last message.
func (b *Batch) Seq() uint64 { return b.last().Seq }

func (b *Batch) last() events.Message { return b.messages[len(b.messages)-1] }

func (b *Batch) clear() { b.messages, b.bodies, b.Events = b.messages[:0], b.bodies[:0], b.Events[:0] }

// Decoder appends the event of a message to a slice. To leave the event out, it returns the slice
// unchanged.
type Decoder func(to []events.Event, m events.Message) ([]events.Event, error)

func (b *Batch) decode(decode Decoder) (err error) {
	b.Digest = b.last().Digest()
	for _, m := range b.messages {
		if b.Events, err = decode(b.Events, m); err != nil {
			return err
		}
	}
	return nil
}
