// Package archive keeps a copy of the log outside its server: in a folder, or in an object store.
//
//	<place>/<log_id>/<first sequence>.seg          as it was cut; the first archiver that creates it wins
//	<place>/<log_id>/<first>-<last sequence>.seg   several of these, merged
//
// A segment is written once and never changed. It describes itself: docs/archive.md defines its
// bytes. Every sequence is in at least one segment at any time, because a merged segment is
// written and read back before its parts are removed.
//
// Records are chained: the chain value after a record is the SHA-256 of the value before it and
// the record's bytes. A segment names the values before its first and after its last record, so
// that neither a merge nor another division into segments changes a link. A segment also names
// the root of the Merkle tree over the whole log up to its end (package fingerprint).
//
//	segment      package with the format of one segment; package storage keeps the segments
//	archive.go   the segments of one log, in order, and what is wrong with them
//	read.go      reads and checks them; logs.go finds the logs of a place
//	archiver.go  looks at log and archive, again and again; cut.go writes the next segment; after_damage.go, beside a damaged one
//	merge.go     merges small segments; trim.go and keep.go remove from the log what is archived
//	pace.go      lets deliveries go first; state.go says how far behind the archive is
//	compare.go   compares the archive with the log; heal.go replaces what is damaged
//	remains.go   what only a damaged segment holds; parts.go finds other segments with the same messages
package archive
