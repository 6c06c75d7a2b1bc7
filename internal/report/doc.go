// Package report answers people's questions: how the work stands (Status), what
// an event did and why, what a user has and from what (Explain).
//
//	the tables at one moment + what the log says ──▶ text or one JSON object
//
// Texts come from outside: nothing that a terminal could take for a command is
// ever written raw, neither as text nor as JSON. Bodies, signatures and secrets
// are never written at all. Times are UTC, numbers plain digits.
package report
