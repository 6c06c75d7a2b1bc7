// Package providers knows the payment providers: how each signs its deliveries, and where the facts of an event are in
// its bodies. A provider is a table in a file of its own. One reader reads the bodies of all of them.
//
//	delivery ──Verify──▶ Signature        (a scheme of schemes.go)
//	body ──Parse──▶ events.Event          (json.go ▶ values.go ▶ parse.go)
//	events.Message ──Decode──▶ events.Event
//
// ingest calls Verify and Parse before it stores a body. A projector calls Decode for every message of the log. All are
// pure and safe for concurrent use. Decode never fails: a flag on the Event says what it could not use, so one bad body
// cannot block the events after it.
//
// Keys are matched in exact case. If a key occurs twice, the last one counts. But the id, the type and the object of a
// body must occur exactly once; otherwise Parse returns an error.
package providers
