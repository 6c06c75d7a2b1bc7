// Package wire defines how an event is written as a message of NATS, and how it is read again.
//
//	message.go  a delivery as it is published, and the message that the server delivers or that its files hold
//	restored.go a message that is created again from an archive
//	header.go   all headers of a message, in whichever form it was read
package wire
