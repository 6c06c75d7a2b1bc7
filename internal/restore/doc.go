// Package restore creates a lost log again from its archive.
//
//	archive ──records──▶ marked stream ──read back──▶ compared with the archive ──▶ the log
//
// The result has the old log's id and sequences, and messages that read like the old ones. So
// projectors continue with it, and an archiver continues the archive. The stream is marked until
// everything was compared, and nothing else uses it until then. An interrupted restore continues
// where it was.
package restore
