// Package events says what a payment event is: the body's envelope, the fields
// the rules read, the event's id and the key of its partition.
//
//	body ──Parse──▶ Event ──(seq, received at)──▶ Event of the log
//
// Parse is what ingest asks before it stores a body, Decode what a projector
// asks of every message of the log. Both are pure and safe for concurrent use.
// Decode is total: whatever it cannot use becomes a mark on the Event, never an
// error, so one bad body cannot hold up the bodies behind it.
//
// Keys are matched in exact case; of a key given twice the last one counts,
// except for the envelope's id, eventType and object, which Parse refuses twice.
package events
