// Package console serves the pages on which people look at the log and the tables.
//
//	request ──▶ Guard (who may look) ──▶ page: one snapshot ──▶ HTML or JSON
//
// It only reads: no route changes anything. A page shows one moment and names it. The same URL is
// JSON for a request that accepts application/json. Pages need no JavaScript; with it they follow
// the tables (see /live).
//
// Bodies and ids come from outside. html/template escapes everything in a page. Package page escapes
// characters that a browser would not show, or would show in another order.
package console
