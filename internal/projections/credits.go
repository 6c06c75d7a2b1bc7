package projections

// Credits is a user's credit packs: balance is the sum of the ledger's deltas
// of kind one_time, granted minus reversed. It may be below zero.
type Credits struct {
	UserID    string `db:"user_id,key"`
	Balance   int64  `db:"balance"`
	Granted   int64  `db:"granted"`
	Reversed  int64  `db:"reversed"`
	StreamSeq int64  `db:"stream_seq"`
}

// maxBalance keeps every sum within 64 bits, whatever comes next.
const maxBalance = 1 << 62

// canGrant foresees what a bigint could not hold.
func (s *State) canGrant(user string, kind Kind, credits int64) bool {
	have, _ := s.Credits.Get(user)
	return kind != KindOneTime || have.Granted <= maxBalance-credits
}

// addCredits adds what was granted, or what was reversed where it is negative.
func (s *State) addCredits(user string, credits, seq int64) {
	have, _ := s.Credits.Get(user)
	have.UserID = user
	have.Balance += credits
	if credits > 0 {
		have.Granted += credits
	} else {
		have.Reversed -= credits
	}
	have.StreamSeq = max(have.StreamSeq, seq)
	s.Credits.Put(user, have)
}
