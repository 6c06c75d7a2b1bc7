// Package projections has the rules: a pure fold from events to the rows of the read models,
// one file per table.
//
//	State × Event ──Fold──▶ State + Outcome
//
// There is no clock, no database and no logger here. The same events in the same order give
// the same rows, byte for byte, in any batches. Live projection and rebuild run the same code.
//
// A State must hold every row that the events folded into it can touch (see State). Each
// Table knows which of its rows a fold changed.
package projections
