// Package invitations invites the GitHub users of licences to a repository. It is
// a reconciler: the desired state is the purchases of kind pro in portal.payment, the
// actual state is payfold.invitation. A kept purchase (one that is not refunded) without
// an invitation gets one, for the GitHub user that it names. Crashes, rebuilds and
// promotions need no code of their own.
//
// The package guarantees for each (user, repository, payment): GitHub makes one
// invitation, and one more if the first expires. None is lost. A refund ends the
// invitation, unless another kept purchase names the same GitHub user. This holds for
// any number of processes, wherever they crash, because of the order of the steps. No
// transaction stays open between two steps:
//
//	reserve  an attempt, for one GitHub user at a time, within the day's quota
//	look     whether that user has access already or an invitation is pending
//	ask      GitHub to invite, only if neither is the case; before that, mark the attempt
//	record   the answer, unless the attempt has expired
//
// A marked attempt without a recorded answer may have invited, and GitHub may still act on its request. It
// counts for the quota, its GitHub user waits, and then the look of the next attempt finds out.
//
// payfold does not take back what somebody else gave. An invitation that is older than the
// purchases which may have sent it is somebody else's; when it ends, payfold invites. Access
// counts as given by payfold only if a record says that payfold invited, or may have invited,
// and no later look found that this had ended.
//
//	                   201, or found pending
//	         ┌────────────────────────────────────▶ invited ──▶ collaborator
//	         │                                     │   │  accepted
//	pending ─┼─ 204, or has access ──▶ collaborator│   └─ gone ──▶ declined
//	   ▲  ▲  │                                     │
//	   │  │  └─ 404, 422 ──▶ failed                └─ 7 days ──▶ pending, once; then expired
//	   │  └── limits, timeouts, 5xx: waits
//	   └───── retry: from failed, declined, expired
//
//	any of them ── the purchase is refunded ──▶ withdrawn ── it is kept after all ──▶ pending
package invitations
