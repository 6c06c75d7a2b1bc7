package projections

// Credits has the sums of a user's credit packs, the ledger lines of kind one_time. Balance is
// Granted minus Reversed. It may be below zero.
type Credits struct {
	UserID    string `db:"user_id,key"`
	Balance   int64  `db:"balance"`
	Granted   int64  `db:"granted"`
	Reversed  int64  `db:"reversed"`
	StreamSeq int64  `db:"stream_seq"`
}

// maxBalance bounds what one user is granted, so that no sum overflows 64 bits.
const maxBalance = 1 << 62

// canGrant reports whether the user's sums can hold what the payment grants.
func (s *State) canGrant(p Payment) bool {
	if p.Kind != KindOneTime || p.Credits == nil {
		return true
	}
	have, _ := s.Credits.Get(p.user())
	granted, _ := s.sums(p)
	return have.Granted <= maxBalance-max(0, *p.Credits-granted)
}

// addCredits adds to the user's sums.
func (s *State) addCredits(user string, granted, reversed, seq int64) {
	have, _ := s.Credits.Get(user)
	have.UserID = user
	have.Granted += granted
	have.Reversed += reversed
	have.Balance = have.Granted - have.Reversed
	have.StreamSeq = max(have.StreamSeq, seq)
	s.Credits.Put(user, have)
}
