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
//	archive.go   the archive of one log; logs.go finds the logs of a place
//	list.go      puts its segments in order, and says what is wrong with them; candidates.go goes by their names
//	read.go      reads them; check.go reads every byte, and compares the whole archive with the log
//	archiver.go  decides when something is to be done; cut.go writes the next segment; merge.go merges small ones
//	pace.go      lets deliveries go first; state.go says how far behind the archive is; faults.go logs what is wrong
//	trim.go      removes from the log what is archived; keep.go says what it has to keep
//	compare.go   compares the archive with the log; status.go says what it holds
//	heal.go      replaces what is damaged
package archive
