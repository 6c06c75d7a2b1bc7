// Package tables declares the derived tables and reads and writes their rows.
//
// Load reads the rows that a batch of events can touch into a State, the rules fold the
// events into it, and Changes lists what to write. A rebuild, verify and settle use the same
// declarations.
package tables
