// Package eventlog is the append-only log of payment events: one JetStream
// stream that nothing is ever removed from. It is the only package that knows
// NATS.
//
//	Append ──▶ payments.<partition> ──▶ stream PAYMENTS ──Read──▶ events.Message
//
// Append returns nil only when the message is durable: with the embedded server
// after its fsync, with a cluster after the acknowledgement of a quorum. Read
// delivers every message from a sequence on, in order, without gaps.
package eventlog
