// Package promote replaces the live tables by a candidate that a rebuild has filled.
//
//	fold up to the head ─▶ hold the batches ─▶ fold the last events ─▶ rename both schemas ─▶ commit
//
// Live projectors wait for the middle part, which timeouts bound (see store.HoldBatches). Readers
// never wait: they see either the old tables or the new ones.
package promote
