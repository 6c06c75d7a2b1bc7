// Package store is Postgres: the derived tables of one schema (portal, or a
// candidate beside it) and the durable schema payfold.
//
// Apply is the one way rows of a derived table change: one transaction that
// moves the checkpoints on from where the batch began, loads what the batch
// touches, lets the rules fold, and writes what they changed. Whoever applies
// the same messages again finds the checkpoints moved and changes nothing.
package store
