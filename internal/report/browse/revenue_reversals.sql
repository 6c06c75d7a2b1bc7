-- every event of a reversal, with the payment that it takes back; those of one payment are together, in the
-- order of the log. A union, because with both names in one condition Postgres would look up each reversal
-- in the index
with named as (
  select provider_payment_id, provider_payment_id as name, amount, currency, kind
  from payment_facts
  where refunded_amount is not null
  union all
  select provider_payment_id, order_id, amount, currency, kind
  from payment_facts
  where refunded_amount is not null and joined
)
select p.provider_payment_id, p.amount, coalesce(p.currency, ''), coalesce(p.kind, ''), r.event_id, r.reversal_id, r.status, r.amount, coalesce(r.currency, ''), r.total, r.paid, r.credits,
  r.occurred_at
from named p
join reversal r on r.provider_payment_id = p.name
order by p.provider_payment_id, r.stream_seq
