-- what users can spend now, by kind and by the month of zone $2 in which it expires: null if it does not. $1: the tables are
-- live, so apps spend what they grant. Function wallet.grants counts what is left to users who have spent more than is
-- left of a grant
with taken as (
  select user_id, provider_payment_id, part, sum(amount)::bigint as used
  from wallet.spend_part
  where $1 and key not in (select key from wallet.spend where state = 'held' and held_until <= now())
  group by user_id, provider_payment_id, part
  having sum(amount) > 0
), own as (
  select user_id, g.kind, g.available_at, g.expires_at, coalesce(g.granted - g.reversed, 0) as rest,
    coalesce(t.used, 0) as used
  from credit_grant g
  full join taken t using (user_id, provider_payment_id, part)
), debtor as materialized (
  select distinct user_id from own where rest < used
), usable as (
  select kind, expires_at, rest - used as credits
  from own
  where (available_at <= now() or used > 0) and (expires_at > now() is not false)
    and user_id not in (select user_id from debtor)
  union all
  select g.kind, g.expires_at, g.usable from debtor d cross join lateral wallet.grants(d.user_id) g
)
select kind, date_trunc('month', expires_at at time zone $2)::date, sum(credits)::text
from usable
where credits > 0
group by 1, 2
order by 2 nulls last, 1
