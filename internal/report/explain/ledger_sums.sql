-- for each event: what its ledger lines without corrections granted, and took back, where those of one payment are added
-- up first; what its corrections took back and gave back; what corrections took back of the grants that it wrote, and
-- gave back of the grants that it reversed
with of_payments as (
  select event_id,
    coalesce(sum(delta) filter (where entry <> 'correction'), 0) as wrote,
    coalesce(-sum(delta) filter (where entry = 'correction' and delta < 0), 0) as took_back,
    coalesce(sum(delta) filter (where entry = 'correction' and delta > 0), 0) as gave_back
  from credit_ledger
  where event_id = any($1)
  group by event_id, provider_payment_id
), own as (
  select event_id,
    sum(greatest(wrote, 0))::bigint as granted, -sum(least(wrote, 0))::bigint as reversed,
    sum(took_back)::bigint as took_back, sum(gave_back)::bigint as gave_back
  from of_payments
  group by event_id
), of_grants as (
  select distinct event_id, provider_payment_id, entry = 'grant' as granted, coalesce(reverses_line, line) as grant_line
  from credit_ledger
  where event_id = any($1) and entry <> 'correction'
), undone as (
  select g.event_id,
    coalesce(-sum(c.delta) filter (where c.delta < 0 and g.granted), 0)::bigint as took_back,
    coalesce(sum(c.delta) filter (where c.delta > 0 and not g.granted), 0)::bigint as gave_back
  from of_grants g
  cross join lateral (
    select delta from credit_ledger
    where provider_payment_id = g.provider_payment_id and reverses_line = g.grant_line and entry = 'correction'
    offset 0 -- a look for each grant: without statistics Postgres would read the whole ledger
  ) c
  group by 1
)
select o.event_id, o.granted, o.reversed, o.took_back, o.gave_back, coalesce(u.took_back, 0), coalesce(u.gave_back, 0)
from own o
left join undone u using (event_id)
