// Package restore makes a lost log again from its archive.
//
//	archive ──records──▶ marked stream ──read back──▶ compared with the archive ──▶ the log
//
// The result has the old log's id and sequences, and messages that read like the old ones, so that
// projectors go on with it and an archiver continues the archive. Until everything was compared,
// the stream is marked, and nothing else uses it. An interrupted restore goes on where it was.
package restore
