package events

import "time"

// Names of a message's headers that payfold reads.
const (
	HeaderID         = "Nats-Msg-Id" // the broker's dedupe id
	HeaderSignature  = "Payfold-Signature"
	HeaderKey        = "Payfold-Key"
	HeaderReceivedAt = "Payfold-Received-At"
)

// Header is one header of a message.
type Header struct{ Name, Value string }

// Attributes are the values of the headers that payfold reads.
type Attributes struct{ ID, Signature, Key, ReceivedAt string }

// Field returns the field for the value of that header; nil for any other header.
func (a *Attributes) Field(name string) *string {
	switch name {
	case HeaderID:
		return &a.ID
	case HeaderSignature:
		return &a.Signature
	case HeaderKey:
		return &a.Key
	case HeaderReceivedAt:
		return &a.ReceivedAt
	}
	return nil
}

// NewAttributes reads headers that are sorted by name. If several have the same name, the first
// counts.
func NewAttributes(headers []Header) (a Attributes) {
	for i, h := range headers {
		if field := a.Field(h.Name); field != nil && (i == 0 || headers[i-1].Name != h.Name) {
			*field = h.Value
		}
	}
	return a
}

// NewMessage returns the message with these headers. stored is the time of the stream's clock.
func NewMessage(seq uint64, partition int, a Attributes, body []byte, stored time.Time) Message {
	// time.Parse is fast only for the layouts of RFC 3339.
	received, err := time.Parse(time.RFC3339Nano, a.ReceivedAt)
	if err != nil || len(a.ReceivedAt) != len("2006-01-02T15:04:05.000000Z") || received.Year() < 2000 {
		received = stored // ingest did not write this message
	}
	return Message{
		Seq: seq, Partition: partition, ID: a.ID,
		Body: body, ReceivedAt: received.UTC(), StoredAt: stored.UTC(),
		Signature: a.Signature, KeyFingerprint: a.Key,
	}
}
