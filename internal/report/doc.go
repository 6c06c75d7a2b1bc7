// Package report writes what the commands of projector print. Status shows the state of the system.
// Explain says what an event did and why, or what a user has and which events gave it.
//
//	the tables at one moment + answers of the log ──▶ text or one JSON object
//
// Ids and texts come from outside. The package escapes everything that a terminal could
// take for a command, in text and in JSON. It never writes bodies, signatures or secrets.
// Times are UTC.
package report
