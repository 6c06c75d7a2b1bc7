package projections

// extras lists the projections that live tables do not have. A rebuild folds only those that its
// user asks for. A new extra projection needs a line here, a file with its row and its rule, a
// table in State, and a declaration in internal/tables.
var extras = map[string]func(*State, *step, Outcome){
	"revenue_daily": countRevenue,
}

// IsExtra reports whether an extra projection has that name.
func IsExtra(name string) bool { return extras[name] != nil }

func (r Rules) foldExtras(s *State, f *step, outcome Outcome) {
	for _, name := range r.Extras {
		extras[name](s, f, outcome)
	}
	clear(s.before)
}
