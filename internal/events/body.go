package events

// The parts of a body that the rules read. Everything else is skipped; new
// fields and new event types arrive without notice.

type object struct {
	ID             scalar           `json:"id"`
	Mode           scalar           `json:"mode"`
	Metadata       ref[metadata]    `json:"metadata"`
	Customer       ref[identity]    `json:"customer"`
	Product        ref[identity]    `json:"product"`
	Order          ref[order]       `json:"order"`
	Subscription   ref[nested]      `json:"subscription"`
	Checkout       ref[nested]      `json:"checkout"`
	Transaction    ref[transaction] `json:"transaction"`
	LastTxn        ref[transaction] `json:"last_transaction"`
	LastTxnID      scalar           `json:"last_transaction_id"`
	PaymentID      scalar           `json:"provider_payment_id"`
	SubscriptionID scalar           `json:"subscription_id"`
	UserID         scalar           `json:"user_id"`
	UserIDCamel    scalar           `json:"userId"`
	Credits        scalar           `json:"credits"`
	Units          scalar           `json:"units"`
	Items          list[item]       `json:"items"`
	Status         scalar           `json:"status"`
	CanceledAt     scalar           `json:"canceled_at"`
	RefundAmount   scalar           `json:"refund_amount"`
	AmountPaid     scalar           `json:"amount_paid"`
	Amount         scalar           `json:"amount"`
	Currency       scalar           `json:"currency"`
	PeriodStartISO scalar           `json:"current_period_start_date"`
	PeriodEndISO   scalar           `json:"current_period_end_date"`
	PeriodStart    scalar           `json:"current_period_start"`
	PeriodEnd      scalar           `json:"current_period_end"`
}

type metadata struct {
	Kind             scalar `json:"kind"`
	UserID           scalar `json:"user_id"`
	UserIDCamel      scalar `json:"userId"`
	ReferenceID      scalar `json:"reference_id"`
	ReferenceIDCamel scalar `json:"referenceId"`
	PaymentID        scalar `json:"provider_payment_id"`
	ProductKey       scalar `json:"product_key"`
	Key              scalar `json:"key"`
	Credits          scalar `json:"credits"`
	GitHubUsername   scalar `json:"github_username"`
	GitHubCamel      scalar `json:"githubUsername"`
	GitHubLogin      scalar `json:"github_login"`
	GitHub           scalar `json:"github"`
}

type identity struct {
	ID scalar `json:"id"`
}

type nested struct {
	ID       scalar        `json:"id"`
	Customer ref[identity] `json:"customer"`
	Metadata ref[metadata] `json:"metadata"`
}

type order struct {
	ID          scalar        `json:"id"`
	Customer    ref[identity] `json:"customer"`
	Product     ref[identity] `json:"product"`
	Transaction scalar        `json:"transaction"`
	AmountPaid  scalar        `json:"amount_paid"`
	Currency    scalar        `json:"currency"`
	Metadata    ref[metadata] `json:"metadata"`
}

type transaction struct {
	ID           scalar        `json:"id"`
	Customer     ref[identity] `json:"customer"`
	Order        ref[identity] `json:"order"`
	Subscription ref[identity] `json:"subscription"`
	AmountPaid   scalar        `json:"amount_paid"`
	Refunded     scalar        `json:"refunded_amount"`
	Currency     scalar        `json:"currency"`
	PeriodStart  scalar        `json:"period_start"`
	PeriodEnd    scalar        `json:"period_end"`
}

type item struct {
	Units scalar `json:"units"`
}
