package store

// The keys of all advisory locks. Of those with two keys the second is the hash of a
// name.
const (
	schemaLock = 0x7061_7966_6f6c_6401 // to create schema payfold or a schema's tables

	// PromoteLock is shared by every batch on the live tables and held alone by a
	// promotion: a transaction open across the renaming would write half into each
	// schema. Readers never touch it.
	PromoteLock = 0x7061_7966_6f6c_6403

	commandLock    = 0x7061_7966 // of a schema: one command works on it
	indexLock      = 0x7061_7967 // of a schema: one command makes its indexes
	InvitationLock = 0x7061_7968 // of a repository: one transaction changes its invitations
	LeaderLock     = 0x7061_7969 // of a repository: the session of the process that invites
)
