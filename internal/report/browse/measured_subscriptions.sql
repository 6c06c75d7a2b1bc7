-- subscriptions by the day of zone $1 on which they began and the day on which they ended: null if they have not. What counts is
-- what the view entitlement says of one subscription
with refunded as (
  select s.subscription_id, max(p.reversed_at) as at
  from subscription_facts s
  left join payment_facts newest on newest.provider_payment_id = s.provider_payment_id
  join lateral (
    select reversed_at
    from payment_facts p
    where p.paid and (
      p.subscription_id = s.subscription_id and (p.period_end = s.current_period_end or p.period_end is null
        and p.kind = newest.kind and p.occurred_at >= least(newest.occurred_at, s.current_period_start - interval '24 hours'))
      or p.provider_payment_id = s.provider_payment_id
        and (p.period_end is null or s.current_period_end is null or p.period_end = s.current_period_end))
  ) p on true
  where s.subscription_id in (select subscription_id from payment_facts where reversed_at is not null)
    or s.provider_payment_id in (select provider_payment_id from payment_facts where reversed_at is not null)
  group by s.subscription_id
  having bool_and(p.reversed_at is not null)
), access as (
  select s.started_at, s.status in ('active', 'trialing', 'past_due', 'scheduled_cancel', 'canceled') as counts,
    case
      when r.at is not null then r.at
      when s.status = 'active' and s.current_period_end > now() is not false then s.current_period_end
      when s.status in ('active', 'trialing', 'past_due', 'scheduled_cancel', 'canceled') then s.counts_until
      else s.occurred_at
    end as until,
    r.at is not null as refunded
  from subscription_facts s
  left join refunded r using (subscription_id)
  where s.status is not null and s.status <> 'incomplete' and s.user_id is not null
), life as (
  select least(started_at, now()) as began,
    case when counts and not refunded and until > now() is not false then null
      else greatest(least(until, now()), least(started_at, now())) end as ended
  from access
)
select (began at time zone $1)::date, (ended at time zone $1)::date, count(*)
from life
group by 1, 2
