package projections

// extras lists the projections that the live tables do not have; a rebuild that is
// asked for one folds it, too. A new one is one line here, its file of rules, its
// row in State and store's changesOf, and its DDL.
var extras = map[string]func(*State, *facts, Outcome){
	"revenue_daily": countRevenue,
}

// IsExtra says whether there is a projection of that name.
func IsExtra(name string) bool { return extras[name] != nil }

func (r Rules) foldExtras(s *State, f *facts, outcome Outcome) {
	for _, name := range r.Extras {
		extras[name](s, f, outcome)
	}
	clear(s.before)
}
