// Package appends writes messages to the log's server, and says of each when it is durable.
//
//	committer.go    group commit: answers, flushes, and each delivery's result
//	direct.go       sends messages to the server in this process, without the general client
//	direct_conn.go  one connection of it: the protocol
//	client.go       sends messages to a cluster and receives answers, without waiting in between
package appends
