// Package live has the projector, which follows the log and applies it to the live tables.
//
//	check identity ─▶ read ─▶ batch ─▶ decode ─▶ Apply (checkpoints, load, fold, save: one transaction)
//	      ▲                                             │
//	      └────────── any fault: back off ──────────────┘
//
// A projector that has all partitions and finds many messages waiting works off the backlog
// faster: it folds the next batch while Postgres writes this one, and keeps rows in memory
// between batches (backlog.go). Its transactions give the same guarantees.
//
// The checkpoints are in the same database as the rows. The log keeps no acknowledgements
// and no positions of projectors. After any fault the loop starts again from the
// checkpoints, so no event is lost and none is applied twice.
package live
