// Package segment is the format of one segment of the archive: a part of the log, written once and
// never changed. docs/archive.md defines its bytes. Everything that is read is checked.
//
//	record.go    one message as bytes, and the chain over them
//	format.go    header, frames and footer
//	writer.go    writes a segment
//	segment.go   opens a segment; frames.go reads it ahead of the delivery of its records
//	names.go     the names of segments
package segment
