// Package blockstore is the only package that knows the files in which nats-server stores
// the messages of a stream. It checks them before a server opens them, makes them durable,
// and reads them.
//
//	<root>/watermark                                       written by payfold: which log, and how far it is durable
//	<root>/jetstream/<account>/streams/<stream>/meta.inf   the stream's settings, log_id among them
//	                                           msgs/1.blk, 2.blk, …, and index.db
//
// When a server opens a stream it silently truncates a block at the first record that it
// cannot read, and assigns the later sequences again. So Recover first reads every record.
// The watermark tells damage from a write that a kill or a power cut has interrupted:
// everything at or below the watermark was confirmed and must be undamaged.
package blockstore
