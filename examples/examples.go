// Package examples has a body of each important event type, in a folder for each provider. All of them tell of a
// customer whose first payment is on 1 March 2026 at 10:00 UTC.
package examples

import "embed"

// Bodies has the files, such as stripe/invoice.paid.json.
//
//go:embed creem paddle stripe
var Bodies embed.FS
