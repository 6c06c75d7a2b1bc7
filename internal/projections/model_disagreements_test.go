package projections_test

// What the model and the rules do not agree on is not drawn while its constant is false.
const (
	// Two events of one payment name different keys, and there is no catalogue. The reference says that the first
	// in the alphabet counts. Under the rules it is that of the event with more credits, then that of one with a
	// kind.
	differentKeysOfAPayment = false
	// Two licences of a user are bought at the same moment. The reference says that licences do not depend on the
	// order of arrival. Under the rules the one with the later provider_payment_id counts, which depends on it.
	licencesAtOneMoment = false
	// Two payments of one period belong to the implicit subscription of a user. The reference says that one period
	// of one subscription grants as much as its largest payment. Under the rules each of them grants its own.
	periodsOfImplicitSubscriptions = false
)
