-- what has an id from $1 to $2, at most $3 of a kind and a name; with $4 also what has such a GitHub name; the events
-- of the ids $5, and the message at sequence $6; named: an event names it
(select 'user' as kind, user_id as id, 'customer' as text, false as named
 from (
   (select user_id from subscription where user_id between $1 and $2 order by user_id limit $3)
   union
   (select user_id from credits where user_id between $1 and $2 order by user_id limit $3)
   union
   (select user_id from pro_license where user_id between $1 and $2 order by user_id limit $3)
 ) customer
 order by user_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'payment', false
 from payment_facts
 where provider_payment_id between $1 and $2 and coalesce(transaction_id, order_id) is not null
 order by provider_payment_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'transaction ' || transaction_id, false
 from payment_facts
 where transaction_id between $1 and $2
 order by transaction_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'order ' || order_id, false
 from payment_facts
 where order_id between $1 and $2
 order by order_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'checkout ' || provider_checkout_id, false
 from payment_facts
 where provider_checkout_id between $1 and $2
 order by provider_checkout_id
 limit $3)
union all
(select 'payment', provider_payment_id, 'its ' || cause || ' ' || reversal_id, false
 from reversal
 where reversal_id between $1 and $2 and reversal_id <> event_id
 order by reversal_id
 limit $3)
union all
(select 'subscription', subscription_id, coalesce(status, 'no status yet'), false
 from subscription_facts
 where subscription_id between $1 and $2
 order by subscription_id
 limit $3)
union all
(select 'event', event_id, coalesce(event_type, 'event') || ', seq ' || stream_seq, false
 from processed_event
 where event_id between $1 and $2
 order by event_id
 limit $3)
union all
(select 'event', event_id, coalesce(event_type, 'event') || ', seq ' || stream_seq, false
 from processed_event
 where event_id = any($5))
union all
(select 'event', event_id, coalesce(event_type, 'event') || ', seq ' || stream_seq, false
 from processed_event
 where stream_seq = $6)
union all
(select 'event', event_id, 'duplicate at seq ' || stream_seq, false
 from duplicate_event
 where stream_seq = $6)
union all
(select 'user', user_id, 'named by ' || event_id, true
 from processed_event
 where user_id = $1
 order by stream_seq desc
 limit 1)
union all
(select 'payment', provider_payment_id, 'named by ' || event_id, true
 from processed_event
 where provider_payment_id = $1
 order by stream_seq desc
 limit 1)
union all
(select 'subscription', subscription_id, 'named by ' || event_id, true
 from processed_event
 where subscription_id = $1
 order by stream_seq desc
 limit 1)
union all
(select case when user_id is null then 'payment' else 'user' end, coalesce(user_id, provider_payment_id),
   'its GitHub user', false
 from payment_facts
 where $4 and github_username is not null and lower(github_username) between lower($1) and lower($2)
 order by lower(github_username)
 limit $3)
