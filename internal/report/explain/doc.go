// Package explain says what an event did and why, or what a user has and which events gave it.
//
//	the tables at one moment + answers of the log ──▶ text or one JSON object
//
// The rows of an answer are of one moment. It puts each outcome into sentences, which say of the past only what the rows
// prove. It asks the log only for duplicates and for messages that are not applied yet.
//
// Ids and texts come from outside. The package escapes everything that a terminal could take for a command, in text and
// in JSON. It never writes bodies, signatures or secrets. Times are UTC.
package explain
