// Package rebuild folds a long log into tables that nobody else writes. The rows are the same as
// those of package live, but the method differs. A chunk of the log is one transaction. Its rows
// stay in memory (the row cache), and some rows of insert-only tables are written during the fold.
//
//	pipeline: read, decode ─▶ Bulk.ReadAhead: rows ─▶ Bulk.Fold ⇄ row cache
//	  ─▶ Bulk.Save: COPY, checkpoints, commit ─▶ Bulk.Finish: indexes
package rebuild
