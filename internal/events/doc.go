// Package events defines a payment event in neutral words. These are the facts that the rules read, the event's id, its
// partition, and the message of the log that carries it. It knows no provider; package providers makes Events from
// bodies.
package events
