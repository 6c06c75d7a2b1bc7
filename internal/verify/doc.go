// Package verify compares the tables and the log with a new fold of the log. It also settles the
// customers whose events were applied out of order.
package verify
