// Package blockstore knows the files in which nats-server keeps the messages of a
// stream, and nobody else does: it checks them before a server opens them, makes
// them durable, and reads them.
//
//	<root>/watermark                                       ours: which log, and how far it is durable
//	<root>/jetstream/<account>/streams/<stream>/meta.inf   the stream's settings, log_id among them
//	                                           msgs/1.blk, 2.blk, …
//
// A server that opens a stream truncates a block at the first record that it cannot
// read, without a word, and gives the sequences behind it out again. So Recover reads
// every record first. The watermark tells damage from the end of a write that a kill
// or a power cut has torn: what is at or below it was confirmed, and must be whole.
package blockstore
