-- what the events from sequence $1 and before $2, received from $3 and before $4, have brought; looks at the newest $5 of
-- them. A payment is of the event that says that it was paid.
with newest as materialized (
  select stream_seq, event_id, action, provider_payment_id, subscription_id, received_at
  from processed_event where stream_seq >= $1 and stream_seq < $2 order by stream_seq desc limit $5
), day as materialized (
  select * from newest where received_at >= $3 and received_at < $4
), paid as (
  select p.amount, p.currency
  from payment_facts p
  where p.paid and p.stream_seq >= $1 and p.stream_seq < $2
    and exists (select from processed_event e where e.stream_seq = p.stream_seq and e.received_at >= $3 and e.received_at < $4)
  order by p.stream_seq desc limit $5
)
select
  (select count(*) from newest) < $5,
  (select count(*) from paid),
  (select coalesce(json_agg(json_build_object('currency', coalesce(currency, ''), 'sum', total::text) order by payments desc, currency), '[]')
   from (select currency, count(*) as payments, sum(amount) as total from paid where amount is not null group by currency) sums),
  (select count(*) from (select distinct subscription_id from day where subscription_id is not null) named
   join subscription_facts s using (subscription_id) where s.started_at >= $3 and s.started_at < $4),
  (select count(distinct r.reversal_id) from day e
   cross join lateral (select reversal_id, status from reversal where event_id = e.event_id limit 1) r
   where e.action = 'reversal' and r.status = 'succeeded'),
  (select coalesce(sum(l.delta), 0)::bigint from day e
   join credit_ledger l on l.provider_payment_id = e.provider_payment_id and l.event_id = e.event_id where l.entry = 'grant')
