// Package projections is the rules: a pure fold from events to the rows of the
// read models, one file per table.
//
//	State × Event ──Fold──▶ State + Outcome
//
// There is no clock, no database and no logger here. The same events in the
// same order give the same rows, byte for byte, in whatever batches they come:
// live projection and rebuild run this very code.
//
// A State must hold every row that the events folded into it can touch (see
// State); which of them a fold changed, each Table knows.
package projections
