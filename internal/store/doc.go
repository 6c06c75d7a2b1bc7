// Package store is Postgres: the derived tables of one schema (portal, or a
// candidate beside it) and the durable schema payfold.
//
// Rows of a derived table change in two ways. Apply is one transaction that moves
// the checkpoints on from where the batch began, loads what the batch touches, lets
// the rules fold, and writes what they changed. Bulk does the same for a long
// chunk of the log, in tables that nobody else writes. Applying the same messages
// again finds the checkpoints moved and changes nothing.
package store
