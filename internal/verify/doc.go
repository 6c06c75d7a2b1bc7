// Package verify compares tables and log with a fold that is made for that, and settles the
// customers whose events were applied out of the log's order.
package verify
