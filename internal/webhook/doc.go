// Package webhook is the HTTP side of ingest: it answers the provider.
//
//	method → content type → room → size → signature → syntax → Append → 200
//
// A 200 means that the log has the event durably. Everything else is a problem
// document (RFC 9457) and not a 2xx. Before the signature is verified nothing
// of the body is parsed, logged or handed on; no secret, signature or body is
// ever logged.
//
// Until then nothing tells a stranger from the provider. Listener bounds the connections and
// room the bodies' memory; where either runs short the slowest sender is evicted, never a
// connection on which a delivery was verified. Every refusal closes its connection.
package webhook
