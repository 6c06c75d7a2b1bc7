package store

// The keys of all advisory locks. commandLock, indexLock, InvitationLock and LeaderLock are
// the first of two keys; the second is the hash of a name.
const (
	schemaLock = 0x7061_7966_6f6c_6401 // one transaction prepares schemas

	// PromoteLock is shared by all batches on the live tables, and exclusive to a promotion, to settle and to adopt-log
	// (see HoldBatches). A batch that was open during the renaming would write half of its rows into each schema. Readers
	// of the tables do not take the lock.
	PromoteLock = 0x7061_7966_6f6c_6403

	commandLock = 0x7061_7966 // one command at a time works on a schema
	indexLock   = 0x7061_7967 // one command at a time creates the indexes of a schema

	// InvitationLock lets one transaction at a time change the invitations to a repository.
	InvitationLock = 0x7061_7968
	// LeaderLock is held by the session of the process that invites to a repository.
	LeaderLock = 0x7061_7969
)
