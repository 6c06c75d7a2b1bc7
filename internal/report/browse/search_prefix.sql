-- what has an id from $1 on and before $2, at most $3 of a kind and a name; with $4 also what has such a GitHub name
(select 'user' as kind, user_id as id, 'customer' as text
 from (
   (select user_id from subscription where user_id >= $1 and user_id < $2 order by user_id limit $3)
   union
   (select user_id from credits where user_id >= $1 and user_id < $2 order by user_id limit $3)
   union
   (select user_id from pro_license where user_id >= $1 and user_id < $2 order by user_id limit $3)
 ) customer
 order by user_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'payment'
 from payment_facts
 where provider_payment_id >= $1 and provider_payment_id < $2
 order by provider_payment_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'transaction ' || transaction_id
 from payment_facts
 where transaction_id >= $1 and transaction_id < $2
 order by transaction_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'order ' || order_id
 from payment_facts
 where order_id >= $1 and order_id < $2
 order by order_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'checkout ' || provider_checkout_id
 from payment_facts
 where provider_checkout_id >= $1 and provider_checkout_id < $2
 order by provider_checkout_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'its ' || cause || ' ' || reversal_id
 from reversal
 where reversal_id >= $1 and reversal_id < $2 and reversal_id <> event_id
 order by reversal_id
 limit $3)
union all
(select 'subscription', subscription_id, coalesce(status, 'no status yet')
 from subscription_facts
 where subscription_id >= $1 and subscription_id < $2
 order by subscription_id
 limit $3)
union all
(select 'event', event_id, coalesce(event_type, 'event') || ', seq ' || stream_seq
 from processed_event
 where event_id >= $1 and event_id < $2
 order by event_id
 limit $3)
union all
(select case when user_id is null then 'payment' else 'user' end, coalesce(user_id, provider_payment_id), 'its GitHub user'
 from payment_facts
 where $4 and github_username is not null and lower(github_username) >= lower($1) and lower(github_username) < lower($2)
 order by lower(github_username)
 limit $3)
