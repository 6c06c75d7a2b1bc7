// Package promote makes a candidate, which a rebuild has filled, the live tables.
//
//	fold up to the head ─▶ hold the batches ─▶ fold the last events ─▶ rename both schemas ─▶ commit
//
// Live projectors wait for the middle part, which timeouts bound (see store.HoldBatches).
// Readers never wait: they see the tables before or those after, whole.
package promote
