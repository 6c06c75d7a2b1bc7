-- Printed from docs/reference.md: make docs

comment on table subscription is
  'subscription: the user''s current one';
comment on column subscription.user_id is
  'key';
comment on column subscription.subscription_id is
  'null: the implicit one';
comment on column subscription.product_key is
  'the product';
comment on column subscription.status is
  'active, trialing, past_due, scheduled_cancel, paused, unpaid, incomplete, canceled, expired, or the '
  'provider''s word for another one';
comment on column subscription.current_period_start is
  'when the current period began';
comment on column subscription.current_period_end is
  'when the current period ends';
comment on column subscription.canceled_at is
  'when it was cancelled; null: it was not';
comment on column subscription.provider_payment_id is
  'its newest payment; one for the rest of a period only if there is no other, or if it pays for longer';
comment on column subscription.occurred_at is
  'the provider''s time of the event that decided the status';
comment on column subscription.event_id is
  'the id of the event that decided the status';
comment on column subscription.stream_seq is
  'the place in the log of the event that decided the status';

comment on view subscription_state is
  'subscription_state: every subscription that has a status';
comment on column subscription_state.subscription_id is
  'key; implicit: and the user''s id if the provider names none';
comment on column subscription_state.provider is
  'the provider whose subscription it is; payfold as long as only events of your own name it; null: an implicit '
  'one';
comment on column subscription_state.user_id is
  'null until an event tells it';
comment on column subscription_state.product_key is
  'the product';
comment on column subscription_state.status is
  'active, trialing, past_due, scheduled_cancel, paused, unpaid, incomplete, canceled, expired, or the '
  'provider''s word for another one';
comment on column subscription_state.current_period_start is
  'when the current period began';
comment on column subscription_state.current_period_end is
  'when the current period ends';
comment on column subscription_state.canceled_at is
  'when it was cancelled; null: it was not';
comment on column subscription_state.provider_payment_id is
  'its newest payment; one for the rest of a period only if there is no other, or if it pays for longer';
comment on column subscription_state.started_at is
  'the earliest provider''s time of any of its events';
comment on column subscription_state.occurred_at is
  'the provider''s time of the event that decided the status';
comment on column subscription_state.event_id is
  'the id of the event that decided the status';
comment on column subscription_state.stream_seq is
  'the place in the log of the event that decided the status';
comment on column subscription_state.kind is
  'the kind that its events or their products have; of several subscription, then pro, then one_time; null: none';

comment on view entitlement is
  'entitlement: what a user is entitled to';
comment on column entitlement.user_id is
  'key. The product_key is empty if nothing says which product it is';
comment on column entitlement.product_key is
  'key. The product_key is empty if nothing says which product it is';
comment on column entitlement.kind is
  'subscription or pro';
comment on column entitlement.active is
  'whether the user is entitled now';
comment on column entitlement.status is
  'of a subscription, its status; of a licence active or revoked';
comment on column entitlement.until is
  'when it ends, or has ended; null: for ever, or no end is known';
comment on column entitlement.because_event_id is
  'the event that decided it';

comment on table credits is
  'credits: the balance of packs';
comment on column credits.user_id is
  'key';
comment on column credits.balance is
  'granted - reversed: the user''s ledger lines that never expire; below zero if spent credits were refunded';
comment on column credits.granted is
  'what was granted, after corrections';
comment on column credits.reversed is
  'what refunds and chargebacks have taken back';
comment on column credits.stream_seq is
  'the place in the log of the last change';

comment on table credit_ledger is
  'credit_ledger: every change of credits';
comment on column credit_ledger.provider_payment_id is
  'key: the payment that it was granted for, and the number of the line among those of the payment, from 1';
comment on column credit_ledger.line is
  'key: the payment that it was granted for, and the number of the line among those of the payment, from 1';
comment on column credit_ledger.user_id is
  'the user';
comment on column credit_ledger.kind is
  'subscription or one_time';
comment on column credit_ledger.entry is
  'grant, refund, chargeback or correction';
comment on column credit_ledger.delta is
  'credits; above zero for a grant, below for refund and chargeback; a correction takes back what is excessive, '
  'or gives it back';
comment on column credit_ledger.reverses_line is
  'the line of the same payment with the grant that is taken back, or given back; null for a grant';
comment on column credit_ledger.available_at is
  'when a grant can be spent; null: it never expires';
comment on column credit_ledger.expires_at is
  'when a grant can be spent; null: it never expires';
comment on column credit_ledger.event_id is
  'the id of the event under which it was written';
comment on column credit_ledger.occurred_at is
  'the provider''s time of the event under which it was written';
comment on column credit_ledger.stream_seq is
  'the place in the log of the event under which it was written';

comment on view credit_grant is
  'credit_grant: what each grant of credits is now';
comment on column credit_grant.provider_payment_id is
  'key: the payment, and the number of its month, from 1. Another order of arrival gives the same numbers';
comment on column credit_grant.part is
  'key: the payment, and the number of its month, from 1. Another order of arrival gives the same numbers';
comment on column credit_grant.user_id is
  'the user';
comment on column credit_grant.kind is
  'subscription or one_time';
comment on column credit_grant.granted is
  'credits, after corrections';
comment on column credit_grant.reversed is
  'what refunds and chargebacks have taken back';
comment on column credit_grant.available_at is
  'when the grant can be spent; null: it never expires';
comment on column credit_grant.expires_at is
  'when the grant can be spent; null: it never expires';
comment on column credit_grant.event_id is
  'the event that granted it';

comment on table pro_license is
  'pro_license: the licence of a user';
comment on column pro_license.user_id is
  'key';
comment on column pro_license.status is
  'active while a purchase of kind pro is not wholly taken back and has not ended with its subscription, else '
  'revoked';
comment on column pro_license.github_username is
  'of the newest such purchase';
comment on column pro_license.product_key is
  'of the newest such purchase';
comment on column pro_license.provider_payment_id is
  'of the newest such purchase';
comment on column pro_license.activated_at is
  'of the newest such purchase';
comment on column pro_license.revoked_at is
  'when it was revoked; null: it is active';
comment on column pro_license.event_id is
  'the id of an active one: the purchase; of a revoked one: the reversal, or the event of the subscription, that '
  'ended it';
comment on column pro_license.stream_seq is
  'the place in the log of an active one: the purchase; of a revoked one: the reversal, or the event of the '
  'subscription, that ended it';

comment on view payment is
  'payment: every payment that was paid';
comment on column payment.provider_payment_id is
  'the name that came first';
comment on column payment.provider is
  'the provider whose payment it is; payfold as long as only events of your own name it';
comment on column payment.transaction_id is
  'its names; both are names of this one payment, and no two payments have one';
comment on column payment.order_id is
  'its names; both are names of this one payment, and no two payments have one';
comment on column payment.provider_checkout_id is
  'the checkout in which it was bought; of a subscription only its first payment has it; null: no event names it';
comment on column payment.subscription_id is
  'the subscription';
comment on column payment.user_id is
  'null until it is claimed';
comment on column payment.kind is
  'subscription, one_time, pro or none; null: it is not known';
comment on column payment.product_key is
  'the product, also one that the catalogue does not have';
comment on column payment.amount is
  'what was paid; null: no event says it in a form that can be read';
comment on column payment.currency is
  'what was paid; null: no event says it in a form that can be read';
comment on column payment.credits is
  'what it grants in all, beside the other payments of its period; null: none';
comment on column payment.refunded_amount is
  'what was taken back so far; null: nothing';
comment on column payment.period_start is
  'the period that it pays for';
comment on column payment.period_end is
  'the period that it pays for';
comment on column payment.reversed_at is
  'the time of the reversal after which nothing was left';
comment on column payment.github_username is
  'whom a purchase of kind pro invites: its own events have priority over those of its subscription, then the '
  'earliest counts';
comment on column payment.event_id is
  'the id of the event that says first, by the provider''s time, that it was paid';
comment on column payment.occurred_at is
  'the provider''s time of the event that says first, by the provider''s time, that it was paid';
comment on column payment.stream_seq is
  'the place in the log of the event that says first, by the provider''s time, that it was paid';

comment on table reversal is
  'reversal: what each event says of a refund or dispute';
comment on column reversal.event_id is
  'key';
comment on column reversal.reversal_id is
  'the provider''s id of the refund or dispute; the event''s id if it has none';
comment on column reversal.provider_payment_id is
  'as the event names the payment';
comment on column reversal.order_id is
  'as the event names the payment';
comment on column reversal.cause is
  'refund or chargeback';
comment on column reversal.status is
  'pending, succeeded or failed';
comment on column reversal.amount is
  'what the reversal takes back; null: the event does not say it';
comment on column reversal.currency is
  'the currency of amount, if it can be another one than the payment''s; null: the payment''s';
comment on column reversal.total is
  'all that reversals have taken back of the payment so far; null: the event does not say it';
comment on column reversal.paid is
  'what amount and total are parts of, taxes included; null: the payment''s amount';
comment on column reversal.credits is
  'how many credits it takes back, and no money; 0 beside an amount: only money; null: its share of the money '
  'decides';
comment on column reversal.occurred_at is
  'the provider''s time of the event';
comment on column reversal.stream_seq is
  'the place in the log of the event';

comment on table processed_event is
  'processed_event: what became of each event';
comment on column processed_event.event_id is
  'key';
comment on column processed_event.stream_seq is
  'unique';
comment on column processed_event.provider is
  'the provider that sent it; null: none, payfold did not write the message';
comment on column processed_event.event_type is
  'the provider''s word';
comment on column processed_event.action is
  'what it means: payment, checkout, subscription, reversal or none';
comment on column processed_event.kind is
  'as far as they are known';
comment on column processed_event.user_id is
  'as far as they are known';
comment on column processed_event.subscription_id is
  'as far as they are known';
comment on column processed_event.provider_payment_id is
  'as far as they are known';
comment on column processed_event.outcome is
  'applied, duplicate_payment, stale, ignored or rejected';
comment on column processed_event.reason is
  'of a rejection, see above; unpaid of an ignored payment whose money has not arrived';
comment on column processed_event.note is
  'what was odd about an event whose purchase counts, or will count when its user is known; null: nothing';
comment on column processed_event.occurred_at is
  'the provider''s time';
comment on column processed_event.received_at is
  'when ingest had it';

comment on table duplicate_event is
  'duplicate_event: event ids that came again';
comment on column duplicate_event.stream_seq is
  'key';
comment on column duplicate_event.event_id is
  'the event';

comment on table unlisted_product is
  'unlisted_product: products that the catalogue lacks';
comment on column unlisted_product.product is
  'key: an id or a key that an event has named, and under which the catalogue sells nothing';

comment on table checkpoint is
  'checkpoint: how far the tables go';
comment on column checkpoint.partition is
  'key';
comment on column checkpoint.position is
  'every message of the partition up to this place of the log is applied';
comment on column checkpoint.position_digest is
  'of the message at that place';
comment on column checkpoint.log_id is
  'the log';

comment on view credit_balance is
  'grants that can be spent, without what apps have spent; see wallet.balance';
comment on column credit_balance.user_id is
  'the user';
comment on column credit_balance.balance is
  'credits that have not expired and were not taken back';
comment on table payment_facts is
  'for the rules, not for apps: read the view payment';
comment on table subscription_facts is
  'for the rules, not for apps: read the views subscription_state and entitlement';
comment on view license_facts is
  'for the rules, not for apps: read pro_license and the view entitlement';
comment on view subscription_access is
  'for the rules, not for apps: read the view entitlement';
