// Package live is the loop that keeps the live tables up with the log.
//
//	check identity ─▶ read ─▶ batch ─▶ decode ─▶ Apply (load, fold, save, checkpoints: one transaction)
//	      ▲                                             │
//	      └────────── any fault: back off ──────────────┘
//
// The position lives with the rows it produced: there are no acknowledgements
// and no consumer state in the broker. Whatever fails, the loop starts again
// from the checkpoints, so nothing is lost and nothing is applied twice.
package live
