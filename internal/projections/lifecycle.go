package projections

// lifecycle is the rule of the events that tell how a subscription fares. They
// carry an old payment or none: they grant nothing and claim nothing, but one
// that brings the user lets what waited for the user be claimed.
func lifecycle(r Rules, s *State, f *facts) (Outcome, error) {
	switch f.kind {
	case KindSubscription:
	case KindOneTime, KindPro:
		return Ignored, nil
	default:
		return Rejected, refused(UnknownKind)
	}
	if f.SubscriptionID == "" && f.user == "" {
		return Rejected, refused(MissingUser)
	}
	return r.setSubscription(s, f, statusOf(f)), nil
}
