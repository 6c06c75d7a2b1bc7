-- the money of the newest $1 rejected events whose payment has granted nothing yet, by reason, product and currency: the
-- currency of the most purchases first, in each currency the most money. Each payment counts once, under its newest
-- event. What was wholly refunded needs no repair.
with newest as materialized (
  select stream_seq, event_id, reason, action, provider_payment_id
  from processed_event where outcome = 'rejected' order by stream_seq desc limit $1
), named as (
  select e.stream_seq, e.event_id, e.reason, p.*
  from newest e
  cross join lateral (
    select provider_payment_id, transaction_id, order_id, product_key, amount, currency, user_id, paid, known, reversed_at from payment_facts where provider_payment_id = e.provider_payment_id
    union select provider_payment_id, transaction_id, order_id, product_key, amount, currency, user_id, paid, known, reversed_at from payment_facts where transaction_id = e.provider_payment_id
    union select provider_payment_id, transaction_id, order_id, product_key, amount, currency, user_id, paid, known, reversed_at from payment_facts where order_id = e.provider_payment_id
  ) p
  where p.paid and p.reversed_at is null and (not p.known or p.user_id is null)
), purchases as (
  select distinct on (provider_payment_id) * from named order by provider_payment_id, stream_seq desc
)
select reason, coalesce(product_key, ''), coalesce(currency, ''), count(*), coalesce(sum(amount), 0)::text, count(amount),
  (array_agg(provider_payment_id order by amount desc nulls last, stream_seq desc))[1:$2]
from purchases
group by 1, 2, 3
order by sum(count(*)) over (partition by coalesce(currency, '')) desc, 3, sum(amount) desc nulls last, 1, 2
limit $3
