// Package traces sets up OpenTelemetry traces. Only it uses the SDK and the exporter; the
// packages that make spans use the API.
//
// A trace begins at ingest. Its context is in the header of the message in the log, and so the
// projector continues it:
//
//	delivery ─▶ append ── traceparent in the log ──▶ project
//	                                            └──▶ invite ─▶ calls of GitHub
//
// Spans have ids, sequences and outcomes as attributes. They have no body, no name and no
// address of a person.
package traces
