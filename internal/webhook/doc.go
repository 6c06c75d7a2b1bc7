// Package webhook is the HTTP side of ingest: it answers the provider.
//
//	path → method → content type, encoding → size → signature → syntax → number in flight → Append → 200
//
// A 200 means that the event is durable in the log. Every other answer of the Handler is a problem
// document (RFC 9457) and not a 2xx; net/http answers what is no request of HTTP/1.1 itself. Before
// the signature is verified, nothing of the body is parsed, logged or passed on. No secret,
// signature or body is ever logged.
//
// Before the signature is verified, a stranger looks like the provider. So Listener bounds
// the connections, and bodyMemory bounds the memory for large bodies. If connections run short,
// the unverified connection with the slowest sender is evicted. A connection on which a delivery
// was verified is never evicted. If memory runs short, the body of the slowest sender is evicted;
// one on a verified connection only for another such one. Every error answer closes its connection.
package webhook
