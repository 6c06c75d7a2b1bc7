-- what the events from sequence $1 on, received at $2 or later, have brought; looks at the newest $3 of them.
-- An event may name its payment by its key, its transaction or its order.
with newest as materialized (
  select stream_seq, event_id, action, provider_payment_id, subscription_id, received_at
  from processed_event where stream_seq >= $1 order by stream_seq desc limit $3
), today as materialized (
  select * from newest where received_at >= $2
), paid as (
  select p.amount, p.currency, p.provider_payment_id, e.event_id
  from today e
  cross join lateral (
    select provider_payment_id, amount, currency, event_id from payment_facts where provider_payment_id = e.provider_payment_id and paid
    union select provider_payment_id, amount, currency, event_id from payment_facts where transaction_id = e.provider_payment_id and paid
    union select provider_payment_id, amount, currency, event_id from payment_facts where order_id = e.provider_payment_id and paid
  ) p
  where p.event_id = e.event_id
)
select
  (select count(*) from newest) < $3,
  (select count(*) from paid),
  (select coalesce(json_agg(json_build_object('currency', coalesce(currency, ''), 'sum', total::text) order by total desc), '[]')
   from (select currency, sum(amount) as total from paid where amount is not null group by currency) sums),
  (select count(*) from (select distinct subscription_id from today where subscription_id is not null) named
   join subscription_facts s using (subscription_id) where s.started_at >= $2),
  (select count(distinct r.reversal_id) from today e join reversal r on r.event_id = e.event_id where r.status = 'succeeded'),
  (select coalesce(sum(l.delta), 0)::bigint from today e
   join credit_ledger l on l.provider_payment_id = e.provider_payment_id and l.event_id = e.event_id where l.entry = 'grant')
