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
func (s *State) canGrant(p Payment) bool {
	if p.Kind != KindOneTime || p.Credits == nil {
		return true
	}
	have, _ := s.Credits.Get(p.user())
	granted, _ := s.sums(p)
	return have.Granted <= maxBalance-max(0, *p.Credits-granted)
}

// addCredits adds to what was granted and to what was reversed.
func (s *State) addCredits(user string, granted, reversed, seq int64) {
	have, _ := s.Credits.Get(user)
	have.UserID = user
	have.Granted += granted
	have.Reversed += reversed
	have.Balance = have.Granted - have.Reversed
	have.StreamSeq = max(have.StreamSeq, seq)
	s.Credits.Put(user, have)
}
