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
//	segment      is the format of one segment, and storage keeps them: packages of their own
//	archive.go   the segments of one log, in order, and what is wrong with them
//	read.go      reads and checks them; logs.go finds the logs of a place
//	archiver.go  copies the log into the archive, and beside.go beside what is damaged; merge.go merges what is small
//	pace.go      lets deliveries go first; state.go says how far behind the archive is
//	compare.go   compares it with the log; heal.go makes from the log what is damaged
//	remains.go   what of a damaged segment is in no other one; parts.go finds what other ones hold
package archive
