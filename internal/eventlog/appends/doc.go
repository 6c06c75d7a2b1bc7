// Package appends writes messages to the log's server, and says when each is durable.
//
//	committer.go    group commit: answers, flushes, and each delivery's result
//	direct.go       sends messages to the server in this process, without the general client
//	direct_conn.go  one connection of Direct: the protocol
//	client.go       sends messages to a cluster and receives answers, without waiting in between
package appends
