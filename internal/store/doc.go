// Package store is what all work on Postgres shares: connections, the schemas of derived
// tables (portal, or a candidate beside it) and the durable schema payfold, checkpoints,
// locks, and what the database refuses.
package store
