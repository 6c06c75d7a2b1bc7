-- the paid payment of each pair of names, a transaction and an order, and whether its own name is that of an order;
-- number counts the pairs from 1
select distinct on (n.number) n.number, p.provider_payment_id, coalesce(p.user_id, ''), p.amount,
  coalesce(p.currency, ''), p.event_id, p.occurred_at,
  coalesce(p.provider_payment_id = p.order_id and p.provider_payment_id is distinct from p.transaction_id, false)
from unnest($1::text[], $2::text[]) with ordinality as n (transaction, ordered, number)
join lateral (
  select provider_payment_id, transaction_id, order_id, user_id, amount, currency, event_id, occurred_at
  from payment_facts
  where paid and provider_payment_id in (n.transaction, n.ordered)
  union all
  select provider_payment_id, transaction_id, order_id, user_id, amount, currency, event_id, occurred_at
  from payment_facts
  where paid and transaction_id = n.transaction
  union all
  select provider_payment_id, transaction_id, order_id, user_id, amount, currency, event_id, occurred_at
  from payment_facts
  where paid and order_id = n.ordered
) p on true
order by n.number, p.provider_payment_id
