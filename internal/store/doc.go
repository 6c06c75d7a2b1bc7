// Package store has what all work on Postgres shares.
//
// These are connections, the live and candidate schemas of derived tables, the durable schema payfold, checkpoints,
// locks, and the quarantine of events that the database refuses.
//
// A checkpoint here is the position of a partition in the log. A signed checkpoint of the log is in
// package proof.
package store
