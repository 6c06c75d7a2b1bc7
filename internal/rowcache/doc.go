// Package rowcache keeps rows in memory between the batches of a fold: those that were loaded
// from the tables, and those that the fold has changed. It is for work during which no other
// process changes the tables: a rebuild, and a projector that works off a backlog alone.
//
//	events ─▶ Read: rows of the tables ─▶ Cache ⇄ Fold ─▶ changed rows
package rowcache
