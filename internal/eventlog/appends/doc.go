// Package appends writes messages to the log's server, and says when each is durable.
//
// Deliveries in flight share one flush; see [Committer].
package appends
