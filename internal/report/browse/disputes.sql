-- the disputes among the newest $3 events from sequence $1 on that were received at $2 or later, by currency, with the
-- payments of the newest $4 of all, the newest first. One that the shop has won takes nothing back, so it is left out.
with newest as materialized (
  select stream_seq, event_id, action, received_at from processed_event where stream_seq >= $1 order by stream_seq desc limit $3
), disputes as (
  select distinct on (r.reversal_id) r.provider_payment_id, r.status, e.stream_seq,
    -- an amount in another currency takes back the whole payment
    coalesce(case when r.currency <> p.currency and r.amount > 0 then null else r.amount end, r.total, p.amount) as amount,
    coalesce(p.currency, r.currency) as currency
  from newest e
  cross join lateral (select * from reversal where event_id = e.event_id and cause = 'chargeback' limit 1) r
  left join payment_facts p on p.provider_payment_id = r.provider_payment_id
  where e.action = 'reversal' and e.received_at >= $2
  order by r.reversal_id, r.occurred_at desc, e.stream_seq desc
), counted as (
  select *, row_number() over (order by stream_seq desc) as place
  from disputes
  where status = 'succeeded'
)
select coalesce(currency, ''), count(*), coalesce(sum(amount), 0)::text, count(amount),
  coalesce(array_agg(provider_payment_id order by place) filter (where provider_payment_id is not null and place <= $4), '{}')
from counted
group by 1
order by 2 desc, 1
