// Package events defines a payment event: the body's envelope, the fields that the rules
// read, the event's id and the key of its partition.
//
//	body ──Parse──▶ Event ──(seq, received at)──▶ Event of the log
//
// ingest calls Parse before it stores a body. A projector calls Decode for every message of
// the log. Both are pure and safe for concurrent use. Decode never fails: a flag on the Event
// says what it could not use, so one bad body cannot block the events after it.
//
// Keys are matched in exact case. If a key occurs twice, the last one counts. But the envelope's
// id, eventType and object must occur exactly once; otherwise Parse returns an error.
package events
