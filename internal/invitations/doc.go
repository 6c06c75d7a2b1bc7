// Package invitations invites the GitHub users of licences to a repository. It is
// a reconciler: the desired state is the purchases of kind pro in portal.payment,
// the actual state payfold.invitation, and each purchase that is kept and has no
// invitation gets one, under the GitHub user it names itself. A crash, a rebuild or
// a promotion needs no case of its own.
//
// The promise: for each (user, repository, payment) GitHub makes one invitation,
// and one more if that runs out; none is lost; what is refunded ends, unless another
// kept purchase names the same GitHub user; however often and wherever processes
// die, and however many of them run. It holds because of the order of the steps,
// none of which keeps a transaction open:
//
//	reserve  an attempt, for one GitHub user at a time, within the day's quota
//	look     whether that user has access already or an invitation is pending
//	ask      GitHub to invite, only where neither is the case
//	record   the answer, unless the attempt has become too old in between
//
// An attempt that was reserved and never recorded may have invited. It counts
// for the quota, and the next attempt's look finds out.
//
//	                   201, or found pending
//	         ┌────────────────────────────────────▶ invited ──▶ collaborator
//	         │                                     │   │  accepted
//	pending ─┼─ 204, or has access ──▶ collaborator│   └─ gone ──▶ declined
//	   ▲  ▲  │                                     │
//	   │  │  └─ 404, 422 ──▶ failed                └─ 7 days ──▶ pending, once; then expired
//	   │  └── limits, time-outs, 5xx: waits
//	   └───── retry: from failed, declined, expired
//
//	any of them ── the purchase is refunded ──▶ withdrawn, for ever
package invitations
