// Package report writes what the commands of projector did. It has the result of each, the progress of long ones, and
// what a verification finds. What a command shows of the system is in packages status and explain.
//
// Each function writes text for people, or JSON on request. It escapes everything that a terminal could take for a
// command. It never writes bodies, signatures or secrets. Times are UTC.
package report
