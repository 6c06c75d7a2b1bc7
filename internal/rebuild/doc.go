// Package rebuild folds a long log into tables that nobody else writes. The rows are the same as those of package live,
// but the method differs: the log is folded by customer, not by time.
//
//	pipeline: read, decode ─▶ spool: events by bucket, names by hash ─▶ the names that several buckets have
//	  ─▶ fold each bucket alone; what such names connect: together ─▶ COPY ─▶ checkpoints, commit ─▶ indexes
//
// A bucket has all events of some customers. The rules touch only rows that share a name with the event. So a fold of
// events that share no name with others gives the rows that a fold of the whole log gives. Tables that have rows already
// are brought up to date by package live.
package rebuild
