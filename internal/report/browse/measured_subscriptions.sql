-- subscriptions by the day of zone $1 on which they began and the day on which they ended: null if they have not
with life as (
  select least(started_at, now()) as began,
    case when not counts or until > now() is false then greatest(least(until, now()), least(started_at, now())) end as ended
  from subscription_access
  where status <> 'incomplete' and user_id is not null
)
select (began at time zone $1)::date, (ended at time zone $1)::date, count(*)
from life
group by 1, 2
