-- every name under which rows are looked for; see shelves.eachHash
select event_id from processed_event
union all select provider_payment_id from payment
union all select transaction_id from payment where transaction_id is not null
union all select order_id from payment where order_id is not null
union all select user_id from payment where user_id is not null
union all select subscription_id from payment where subscription_id is not null
union all select buyer from payment where buyer is not null
union all select subscription_id from subscription_state
union all select user_id from subscription_state where user_id is not null
union all select user_id from subscription
union all select user_id from credits
union all select user_id from pro_license
