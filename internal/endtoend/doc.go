// Package endtoend tests the real programs from outside: it delivers over HTTP, reads rows in
// Postgres, and kills or disturbs processes and connections in between.
package endtoend
