// Package blockstore knows the files in which nats-server keeps the messages of a
// stream, and nobody else does: it makes them durable, and reads them.
//
//	<root>/jetstream/<account>/streams/<stream>/msgs/1.blk, 2.blk, …
//
//	store.go    what is durable, and what a server may open
//	blocks.go   records out of the blocks
package blockstore
