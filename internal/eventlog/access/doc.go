// Package access lets readers in other processes reach the embedded log, and nobody else.
// Each side proves its identity before any message is sent: the server by the owner of its
// socket or by its certificate, the reader by the token that it presents to the server.
//
//	reader: Dialer ──▶ socket in the private folder ─────────┐
//	reader: Dialer ──▶ TLS over TCP, where it is asked for ──┴──▶ Gate ──▶ server
//
// The package carries bytes. It knows neither the log nor the protocol of its server.
//
//	gate.go         accepts the readers' connections
//	dialer.go       connects a reader, after the server has proved its identity
//	private.go      the folder that only the log's user may enter
//	socket.go       the socket in that folder
//	certificate.go  the certificate of a server that is reached over TCP
//	token.go        the token of the readers
package access
