// Package eventlog is the append-only log of payment events. It is one JetStream stream, from which
// nothing is removed that is not in the log's archive. Only it and the packages within it know NATS.
//
//	Append ──▶ payments.<partition> ──▶ stream PAYMENTS ──Read──▶ events.Message
//
// Append returns nil only when the message is durable. With the embedded server that is
// after an fsync that began after the server's answer; all appends in flight share it.
// With a cluster it is after the acknowledgement of its quorum. In both cases the stream's
// settings must keep every event (settings.go).
//
// Read delivers every message from a sequence on, in order, without gaps, as soon as it is durable. It takes from the
// archive only what the server has removed. ReadUntil delivers the messages up to a second sequence. It takes from the
// archive all that the archive has, and the rest from the server. Both read the server's files instead of asking the
// server, if that is possible and quicker.
//
//	log.go, connect.go  a connection to the stream
//	stream.go           creates the stream, and never changes an existing one
//	info.go             describes the stream, and counts the messages of a partition that wait
//	append.go           writes an event, if appends can be confirmed now
//	watch.go            asks regularly whether they can
//	committer.go        says when an append is durable; all appends in flight share a flush
//	settings.go         the settings of a stream, and which of them keep every event
//	durable.go          which messages are durable; readers in other processes ask the writing one
//	read.go             reads what only the archive has, then a backlog from the files, then messages as they come
//	sources.go          which of archive, files and server gives the next messages of a read with an end
//	consumer.go         the consumer that a reader has on the server, and how it is removed
//	embedded.go         the server inside this process
//	restore.go          creates a lost log again
//	trim.go             removes the oldest messages, which the archive has
//	recover.go          checks the files before the server opens them
//	scrub.go            reads old messages now and then, so that damage is noticed
//	files.go            the server's files, without the server: checks them, and reads messages from them
package eventlog
