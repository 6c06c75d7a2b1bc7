// Package official tests signatures against code that nobody here wrote: the packages that Stripe, Paddle, Polar, Creem
// and Dodo Payments publish for their users, and that of Standard Webhooks. What they sign must be taken by the real
// ingest, and what internal/providers signs must be accepted by them. make test-signatures runs it, and make test-portal
// signs its deliveries with sign.mjs.
//
// package.json sets an early version of one dependency of Creem's package, because later ones need 90 packages. Only
// the MCP server in that package uses it.
package official
