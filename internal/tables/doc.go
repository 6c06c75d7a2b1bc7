// Package tables declares the derived tables, one file each, and reads and writes their rows.
//
// Load brings a State to all that some events can touch, the rules fold, and Changes
// writes what they changed. Everything else that works on rows follows from a table's
// declaration, too: the row cache of a rebuild, verify, settle.
package tables
