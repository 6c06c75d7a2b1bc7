// Package wallet has the tests of schema wallet, in which apps spend the credits that the live tables grant. The schema
// and its functions are a migration of package store (002_wallet.sql). Apps call the functions in transactions of their
// own; see docs/app.md.
//
//	hold ──▶ held ──confirm──▶ spent ──give_back──▶ spent, with less
//	          │
//	          └─ release, or its time is over ──▶ released
package wallet
