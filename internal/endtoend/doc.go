// Package endtoend tests the real programs from the outside: deliveries over
// HTTP, rows in Postgres, and what happens when processes die in between.
package endtoend
