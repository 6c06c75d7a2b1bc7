// Package rebuild folds a long log into tables that nobody else writes. The rows are those
// that live work leaves. The way there differs: what a chunk of the log has seen stays in
// memory (the row cache), some rows that are only ever added go out while the fold goes on,
// and all of a chunk is one transaction.
//
//	pipeline: read, decode ─▶ Bulk.ReadAhead: rows ─▶ Bulk.Fold ⇄ row cache
//	  ─▶ Bulk.Save: COPY, checkpoints, commit ─▶ Bulk.Finish: indexes
package rebuild
