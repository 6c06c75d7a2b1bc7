// Package eventlog is the append-only log of payment events: one JetStream
// stream that nothing is ever removed from. It is the only package that knows
// NATS.
//
//	Append ──▶ payments.<partition> ──▶ stream PAYMENTS ──Read──▶ events.Message
//
// Append returns nil only when the message is durable: with the embedded server
// after an fsync that began after its answer, and that all appends under way
// share; with a cluster after the acknowledgement of its quorum. In either case the
// stream's settings must keep every event (promises.go). Read delivers every
// message from a sequence on, in order, without gaps, when it is durable; ReadUntil
// does so up to another one, out of the server's files where it can.
//
//	committer.go          answers, flushes, and who is told what when
//	publish.go            messages out, answers in, without waiting in between
//	files.go              messages out of the files that blockstore knows
//	probe.go              the proof that the server keeps them there
//	gate.go, reach.go     how readers of other processes get in, and know where they are
//	private.go            the folder that only the log's user may enter
//	certificate.go        the proof of a server that is reached over TCP
//	durable.go            readers of other processes ask what is durable
package eventlog
