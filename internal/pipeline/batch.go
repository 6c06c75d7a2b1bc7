package pipeline

import "github.com/payfold/payfold/internal/events"

// What is decoded at once: few enough messages to stay in a core's cache, bounded in
// bytes whatever the size of the bodies.
const (
	decodeMessages = 500
	decodeBytes    = 2 << 20
)

// Batch is some messages in a row. When it has been folded its memory serves for
// others: a quarter of the work would be to get new memory and to give it back.
type Batch struct {
	messages []events.Message
	bodies   []byte         // theirs, one after the other
	Events   []events.Event // those to be folded
	Digest   []byte         // of the last message
	decoded  chan error
}

// newBatch has room for that many messages of a usual length.
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

// Seq is that of the last message.
func (b *Batch) Seq() uint64 { return b.last().Seq }

func (b *Batch) last() events.Message { return b.messages[len(b.messages)-1] }

func (b *Batch) clear() { b.messages, b.bodies, b.Events = b.messages[:0], b.bodies[:0], b.Events[:0] }

// Decoder appends the message's event to others, unless it is not to be folded.
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
