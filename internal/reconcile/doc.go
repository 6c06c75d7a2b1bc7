// Package reconcile compares the live tables with what a provider lists: its payments, subscriptions and refunds.
//
//	the provider's lists ──▶ Object ──page by page──▶ compared with the rows of its names ──▶ candidates
//	payments, subscriptions and refunds in the tables that no list had ─────────────────────▶ candidates
//	each candidate: asked of the provider again, and then of the tables ────────────────────▶ differences
//
// It knows no provider: package providerapi reads each object as the event that the provider sends about it. It changes
// neither the tables nor anything at the provider. A page is compared in a transaction of its own, so that no snapshot
// stays open for the minutes of a list. What changes meanwhile is no difference, because each is looked at twice: first
// at the provider, then in one snapshot of the tables. Memory is bounded: a hash for each object, and maxDifferences.
package reconcile
