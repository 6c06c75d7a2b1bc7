// Package wallet reads schema wallet: what apps have spent of the credits that the live tables grant. The schema and its
// functions are in the migrations of package store. Apps call the functions in transactions of their own; see docs/app.md.
//
//	hold ──▶ held ──confirm──▶ spent ──give_back──▶ spent, with less
//	          │
//	          └─ release, or its time is over ──▶ released
package wallet
