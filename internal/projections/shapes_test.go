package projections

import "testing"

// shapes has every row of every table after one event, for each shape of the provider's events
// and each kind in it. Empty columns are left out.
var shapes = []struct{ name, kind, want string }{
	{"plain", "subscription", `
		processed_event event_id=evt_1 stream_seq=1 event_type=checkout.completed kind=subscription user_id=u_1 provider_payment_id=pay_1 outcome=applied occurred_at=12-01T00:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=pay_1 transaction_id=pay_1 user_id=u_1 kind=subscription credits=200 event_id=evt_1 occurred_at=12-01T00:00:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=pay_1 line=1 user_id=u_1 kind=subscription entry=grant delta=200 available_at=12-01T00:00:00Z event_id=evt_1 occurred_at=12-01T00:00:00Z stream_seq=1
		subscription_state subscription_id=implicit:u_1 user_id=u_1 status=active provider_payment_id=pay_1 started_at=12-01T00:00:00Z kind=subscription occurred_at=12-01T00:00:00Z event_id=evt_1 stream_seq=1
		subscription user_id=u_1 status=active provider_payment_id=pay_1 occurred_at=12-01T00:00:00Z event_id=evt_1 stream_seq=1
	`},
	{"plain", "one_time", `
		processed_event event_id=evt_1 stream_seq=1 event_type=checkout.completed kind=one_time user_id=u_1 provider_payment_id=pay_1 outcome=applied occurred_at=12-01T00:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=pay_1 transaction_id=pay_1 user_id=u_1 kind=one_time credits=200 event_id=evt_1 occurred_at=12-01T00:00:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=pay_1 line=1 user_id=u_1 kind=one_time entry=grant delta=200 available_at=12-01T00:00:00Z event_id=evt_1 occurred_at=12-01T00:00:00Z stream_seq=1
		credits user_id=u_1 balance=200 granted=200 stream_seq=1
	`},
	{"plain", "pro", `
		processed_event event_id=evt_1 stream_seq=1 event_type=checkout.completed kind=pro user_id=u_1 provider_payment_id=pay_1 outcome=applied occurred_at=12-01T00:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=pay_1 transaction_id=pay_1 user_id=u_1 kind=pro event_id=evt_1 occurred_at=12-01T00:00:00Z stream_seq=1 known=true
		pro_license user_id=u_1 status=active provider_payment_id=pay_1 activated_at=12-01T00:00:00Z event_id=evt_1 stream_seq=1
	`},
	{"plain_paid", "subscription", `
		processed_event event_id=evt_1 stream_seq=1 event_type=subscription.paid kind=subscription user_id=u_1 subscription_id=sub_1 provider_payment_id=pay_1 outcome=applied occurred_at=12-01T00:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=pay_1 transaction_id=pay_1 subscription_id=sub_1 user_id=u_1 kind=subscription event_id=evt_1 occurred_at=12-01T00:00:00Z stream_seq=1 known=true
		subscription_state subscription_id=sub_1 user_id=u_1 status=active provider_payment_id=pay_1 started_at=12-01T00:00:00Z kind=subscription occurred_at=12-01T00:00:00Z event_id=evt_1 stream_seq=1
		subscription user_id=u_1 subscription_id=sub_1 status=active provider_payment_id=pay_1 occurred_at=12-01T00:00:00Z event_id=evt_1 stream_seq=1
	`},
	{"checkout", "subscription", `
		processed_event event_id=evt_checkout stream_seq=1 event_type=checkout.completed kind=subscription user_id=u_7 subscription_id=sub_A provider_payment_id=tran_A1 outcome=applied occurred_at=01-02T10:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=tran_A1 transaction_id=tran_A1 order_id=ord_A1 provider_checkout_id=ch_A1 subscription_id=sub_A user_id=u_7 kind=subscription product_key=team amount=2420 currency=EUR credits=100 event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=tran_A1 line=1 user_id=u_7 kind=subscription entry=grant delta=100 available_at=01-02T10:00:00Z event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1
		subscription_state subscription_id=sub_A user_id=u_7 product_key=team status=active provider_payment_id=tran_A1 started_at=01-02T10:00:00Z kind=subscription occurred_at=01-02T10:00:00Z event_id=evt_checkout stream_seq=1
		subscription user_id=u_7 subscription_id=sub_A product_key=team status=active provider_payment_id=tran_A1 occurred_at=01-02T10:00:00Z event_id=evt_checkout stream_seq=1
	`},
	{"checkout_order_only", "subscription", `
		processed_event event_id=evt_checkout stream_seq=1 event_type=checkout.completed kind=subscription user_id=u_7 subscription_id=sub_A provider_payment_id=ord_A1 outcome=applied occurred_at=01-02T10:00:00Z received_at=12-01T00:00:00Z
		subscription_state subscription_id=sub_A user_id=u_7 product_key=prod_A status=active started_at=01-02T10:00:00Z kind=subscription occurred_at=01-02T10:00:00Z event_id=evt_checkout stream_seq=1
		subscription user_id=u_7 subscription_id=sub_A product_key=prod_A status=active occurred_at=01-02T10:00:00Z event_id=evt_checkout stream_seq=1
	`},
	{"checkout_once", "one_time", `
		processed_event event_id=evt_checkout stream_seq=1 event_type=checkout.completed kind=one_time user_id=u_7 provider_payment_id=tran_B1 outcome=applied occurred_at=01-02T10:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=tran_B1 transaction_id=tran_B1 order_id=ord_B1 provider_checkout_id=ch_B1 user_id=u_7 kind=one_time product_key=prod_B amount=1210 currency=EUR credits=200 event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=tran_B1 line=1 user_id=u_7 kind=one_time entry=grant delta=200 available_at=01-02T10:00:00Z event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1
		credits user_id=u_7 balance=200 granted=200 stream_seq=1
	`},
	{"checkout_once", "pro", `
		processed_event event_id=evt_checkout stream_seq=1 event_type=checkout.completed kind=pro user_id=u_7 provider_payment_id=tran_B1 outcome=applied occurred_at=01-02T10:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=tran_B1 transaction_id=tran_B1 order_id=ord_B1 provider_checkout_id=ch_B1 user_id=u_7 kind=pro product_key=prod_B amount=1210 currency=EUR github_username=octo event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1 known=true
		pro_license user_id=u_7 status=active github_username=octo product_key=prod_B provider_payment_id=tran_B1 activated_at=01-02T10:00:00Z event_id=evt_checkout stream_seq=1
	`},
	{"checkout_once_order_only", "one_time", `
		processed_event event_id=evt_checkout stream_seq=1 event_type=checkout.completed kind=one_time user_id=u_7 provider_payment_id=ord_B1 outcome=applied occurred_at=01-02T10:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=ord_B1 order_id=ord_B1 provider_checkout_id=ch_B1 user_id=u_7 kind=one_time product_key=prod_B credits=200 event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=ord_B1 line=1 user_id=u_7 kind=one_time entry=grant delta=200 available_at=01-02T10:00:00Z event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1
		credits user_id=u_7 balance=200 granted=200 stream_seq=1
	`},
	{"checkout_once_order_only", "pro", `
		processed_event event_id=evt_checkout stream_seq=1 event_type=checkout.completed kind=pro user_id=u_7 provider_payment_id=ord_B1 outcome=applied occurred_at=01-02T10:00:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=ord_B1 order_id=ord_B1 provider_checkout_id=ch_B1 user_id=u_7 kind=pro product_key=prod_B github_username=octo event_id=evt_checkout occurred_at=01-02T10:00:00Z stream_seq=1 known=true
		pro_license user_id=u_7 status=active github_username=octo product_key=prod_B provider_payment_id=ord_B1 activated_at=01-02T10:00:00Z event_id=evt_checkout stream_seq=1
	`},
	{"paid", "subscription", `
		processed_event event_id=evt_paid stream_seq=1 event_type=subscription.paid kind=subscription user_id=u_7 subscription_id=sub_A provider_payment_id=tran_A1 outcome=applied occurred_at=01-02T10:01:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=tran_A1 transaction_id=tran_A1 subscription_id=sub_A user_id=u_7 kind=subscription product_key=prod_A credits=100 period_start=01-02T10:00:00Z period_end=02-02T10:00:00Z event_id=evt_paid occurred_at=01-02T10:01:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=tran_A1 line=1 user_id=u_7 kind=subscription entry=grant delta=100 available_at=01-02T10:01:00Z event_id=evt_paid occurred_at=01-02T10:01:00Z stream_seq=1
		subscription_state subscription_id=sub_A user_id=u_7 product_key=prod_A status=active current_period_start=01-02T10:00:00Z current_period_end=02-02T10:00:00Z provider_payment_id=tran_A1 started_at=01-02T10:01:00Z kind=subscription occurred_at=01-02T10:01:00Z event_id=evt_paid stream_seq=1
		subscription user_id=u_7 subscription_id=sub_A product_key=prod_A status=active current_period_start=01-02T10:00:00Z current_period_end=02-02T10:00:00Z provider_payment_id=tran_A1 occurred_at=01-02T10:01:00Z event_id=evt_paid stream_seq=1
	`},
	{"paid_transaction", "subscription", `
		processed_event event_id=evt_paid stream_seq=1 event_type=subscription.paid kind=subscription user_id=u_7 subscription_id=sub_A provider_payment_id=tran_A1 outcome=applied occurred_at=01-02T10:01:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=tran_A1 transaction_id=tran_A1 order_id=ord_A1 subscription_id=sub_A user_id=u_7 kind=subscription product_key=prod_A amount=3630 currency=EUR credits=300 period_start=01-02T10:00:00Z period_end=02-02T10:00:00Z event_id=evt_paid occurred_at=01-02T10:01:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=tran_A1 line=1 user_id=u_7 kind=subscription entry=grant delta=300 available_at=01-02T10:01:00Z event_id=evt_paid occurred_at=01-02T10:01:00Z stream_seq=1
		subscription_state subscription_id=sub_A user_id=u_7 product_key=prod_A status=active current_period_start=01-02T10:00:00Z current_period_end=02-02T10:00:00Z provider_payment_id=tran_A1 started_at=01-02T10:01:00Z kind=subscription occurred_at=01-02T10:01:00Z event_id=evt_paid stream_seq=1
		subscription user_id=u_7 subscription_id=sub_A product_key=prod_A status=active current_period_start=01-02T10:00:00Z current_period_end=02-02T10:00:00Z provider_payment_id=tran_A1 occurred_at=01-02T10:01:00Z event_id=evt_paid stream_seq=1
	`},
	{"paid_transaction", "one_time", `
		processed_event event_id=evt_paid stream_seq=1 event_type=subscription.paid kind=one_time user_id=u_7 subscription_id=sub_A provider_payment_id=tran_A1 outcome=applied occurred_at=01-02T10:01:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=tran_A1 transaction_id=tran_A1 order_id=ord_A1 subscription_id=sub_A user_id=u_7 kind=one_time product_key=prod_A amount=3630 currency=EUR credits=300 period_start=01-02T10:00:00Z period_end=02-02T10:00:00Z event_id=evt_paid occurred_at=01-02T10:01:00Z stream_seq=1 known=true
		credit_ledger provider_payment_id=tran_A1 line=1 user_id=u_7 kind=one_time entry=grant delta=300 available_at=01-02T10:01:00Z event_id=evt_paid occurred_at=01-02T10:01:00Z stream_seq=1
		credits user_id=u_7 balance=300 granted=300 stream_seq=1
		subscription_state subscription_id=sub_A user_id=u_7 started_at=01-02T10:01:00Z kind=one_time occurred_at=01-02T10:01:00Z event_id=evt_paid stream_seq=1
	`},
	{"paid_transaction", "pro", `
		processed_event event_id=evt_paid stream_seq=1 event_type=subscription.paid kind=pro user_id=u_7 subscription_id=sub_A provider_payment_id=tran_A1 outcome=applied occurred_at=01-02T10:01:00Z received_at=12-01T00:00:00Z
		payment provider_payment_id=tran_A1 transaction_id=tran_A1 order_id=ord_A1 subscription_id=sub_A user_id=u_7 kind=pro product_key=prod_A amount=3630 currency=EUR period_start=01-02T10:00:00Z period_end=02-02T10:00:00Z github_username=octo event_id=evt_paid occurred_at=01-02T10:01:00Z stream_seq=1 known=true
		subscription_state subscription_id=sub_A user_id=u_7 product_key=prod_A status=active current_period_start=01-02T10:00:00Z current_period_end=02-02T10:00:00Z provider_payment_id=tran_A1 started_at=01-02T10:01:00Z kind=pro occurred_at=01-02T10:01:00Z event_id=evt_paid stream_seq=1
		pro_license user_id=u_7 status=active github_username=octo product_key=prod_A provider_payment_id=tran_A1 activated_at=01-02T10:01:00Z event_id=evt_paid stream_seq=1
	`},
}

func TestAnEventOfEachShapeAndKindGivesTheseRows(t *testing.T) {
	t.Parallel()
	for _, shape := range shapes {
		t.Run(shape.name+" "+shape.kind, func(t *testing.T) {
			t.Parallel()
			requireTables(t, shape.want, fold(t, ofKind(shape.kind, fixture(t, shape.name))))
		})
	}
}
