-- the rows that say why users have what they have, each with its event
select user_id, 'payment ' || provider_payment_id, event_id, stream_seq,
  (kind, product_key, credits, period_start, period_end, reversed_at, known, lasts)::text
from payment_facts
where user_id = any($1)
union all
select user_id, 'subscription ' || subscription_id, coalesce(event_id, ''), stream_seq,
  (kind, product_key, status, current_period_start, current_period_end, canceled_at, counts_until)::text
from subscription_facts
where user_id = any($1)
union all
select user_id, 'line ' || line || ' of ' || provider_payment_id, event_id, stream_seq,
  (kind, entry, delta, available_at, expires_at)::text
from credit_ledger
where user_id = any($1)
