-- The objects of a schema that are not derived tables. A schema has no types, sequences or
-- functions, and no now() in a row, so a fold of the log can make the same schema again.

create table checkpoint (
  partition       integer primary key,
  position        bigint not null,
  position_digest bytea,
  log_id          text not null
);

create view payment as
select provider_payment_id, provider, transaction_id, order_id, provider_checkout_id, subscription_id, user_id, kind,
  product_key, amount, currency, credits, refunded_amount, period_start, period_end, reversed_at, github_username,
  event_id, occurred_at, stream_seq
from payment_facts
where paid;

create view subscription_state as
select subscription_id, provider, user_id, product_key, status, current_period_start, current_period_end, canceled_at,
  provider_payment_id, started_at, kind, occurred_at, event_id, stream_seq
from subscription_facts
where status is not null;

create view credit_balance as
select user_id, sum(delta)::bigint as balance
from credit_ledger
where (kind = 'one_time' or available_at <= now()) and (expires_at is null or expires_at > now())
group by user_id;

-- The claimed payments that give licences, and what ended each licence first: its refund, the end of its subscription, or
-- the refund of all payments of the newest period of that subscription, whose end may have been moved. Only a licence that
-- lasts as long as its subscription has one here; newest: it is of the newest period.
create view license_facts as
select p.user_id, p.provider_payment_id, p.product_key, p.github_username, p.occurred_at, p.event_id,
  case when p.lasts then p.subscription_id end as subscription_id, coalesce(period.has_it, true) as newest,
  ended.at as ended_at, ended.event_id as ended_by
from payment_facts p
left join subscription_facts s on p.lasts and s.subscription_id = p.subscription_id
left join lateral (
  -- the payment of the newest period: that of the subscription, because later ones may pay for changes
  select provider_payment_id, period_start, period_end, occurred_at
  from payment_facts
  where p.lasts and lasts and subscription_id = p.subscription_id and user_id = p.user_id and kind = 'pro'
  order by (provider_payment_id = s.provider_payment_id) is true desc, occurred_at desc, provider_payment_id collate "C" desc
  limit 1
) last on true
cross join lateral (
  select bool_or(provider_payment_id = p.provider_payment_id) as has_it, bool_and(reversed_at is not null) as refunded,
    max(reversed_at) as at, (array_agg(reversed_by order by reversed_at desc))[1] as event_id
  from payment_facts
  where p.lasts and lasts and subscription_id = p.subscription_id and user_id = p.user_id and kind = 'pro'
    and (provider_payment_id = last.provider_payment_id or period_end = coalesce(last.period_end, s.current_period_end)
      or last.period_start = s.current_period_start and period_end > last.period_end and period_end <= s.current_period_end
      or period_end is null and occurred_at >= least(last.occurred_at, s.current_period_start - interval '24 hours'))
) period
left join lateral (
  select at, event_id
  from (values (p.reversed_at, p.reversed_by),
    (case when s.status in ('canceled', 'expired', 'unpaid', 'incomplete') then s.occurred_at end, s.event_id),
    (case when period.refunded then period.at end, period.event_id)) as one (at, event_id)
  where at is not null
  order by at
  limit 1
) ended on true
where p.user_id is not null and p.kind = 'pro';

-- Until when the status of each subscription counts. The refund of all payments of its current period ends it. That is the
-- newest payment, and those of its kind that are for the same period, or name none and are not older than it, or than the
-- period; they can come a little before the period. The provider may have moved the end of the period since it was paid.
create view subscription_access as
select s.subscription_id, s.user_id, s.kind, s.product_key, s.status, s.started_at,
  refund.at is null and s.status in ('active', 'trialing', 'past_due', 'scheduled_cancel', 'canceled') as counts,
  case
    when refund.at is not null then refund.at
    when s.status = 'active' and s.current_period_end > now() is not false then s.current_period_end
    when s.status in ('active', 'trialing', 'past_due', 'scheduled_cancel', 'canceled') then s.counts_until
    else s.occurred_at
  end as until,
  coalesce(refund.event_id, s.event_id) as event_id
from subscription_facts s
left join payment_facts newest on newest.provider_payment_id = s.provider_payment_id and newest.reversed_at is not null
  and (newest.period_end = s.current_period_end is not false or newest.period_start = s.current_period_start)
left join lateral (
  select max(p.reversed_at) as at, (array_agg(p.reversed_by order by p.reversed_at desc))[1] as event_id
  from payment_facts p
  where newest.paid and p.paid and (p.provider_payment_id = newest.provider_payment_id
    or p.subscription_id = s.subscription_id and p.kind = newest.kind and (p.period_end = newest.period_end
      or p.period_end between newest.period_end and s.current_period_end
      or p.period_end = s.current_period_end and newest.period_end is null
      or p.period_end is null and p.occurred_at >= least(newest.occurred_at, s.current_period_start - interval '24 hours')))
  having bool_and(p.reversed_at is not null)
) refund on true
where s.status is not null;

-- What a user is entitled to. A row a user and product; docs/reference.md says what counts.
create view entitlement as
with subscriptions as (
  select user_id, product_key, 'subscription' as kind, counts and until > now() is not false as active, status, until,
    event_id
  from subscription_access
  where user_id is not null and (kind is null or kind = 'subscription')
), licences as (
  select p.user_id, p.product_key, 'pro' as kind,
    p.ended_at is null and (a.status is null or a.counts and a.until > now() is not false) as active,
    case when p.ended_at is null then 'active' else 'revoked' end as status,
    coalesce(p.ended_at, a.until) as until, coalesce(p.ended_by, a.event_id, p.event_id) as event_id
  from license_facts p
  left join subscription_access a on a.subscription_id = p.subscription_id
  where p.newest
)
select distinct on (user_id, coalesce(product_key, ''))
  user_id, coalesce(product_key, '') as product_key, kind, active, status, until, event_id as because_event_id
from (select * from subscriptions union all select * from licences) one
order by user_id, coalesce(product_key, ''), active desc, until desc nulls first, kind, event_id;

-- What each grant of credits is after its corrections. A payment has a grant a month, which are its parts. Several
-- lines of one month are one grant; lines that corrections have taken back wholly are none. The months of a payment begin at
-- least 28 days apart. The first ones can have no grant, because earlier payments of the period have granted as much: then
-- the parts begin with the number of a later month. So a spend keeps its month when one of those payments is taken back.
create view credit_grant as
with grant_line as (
  select provider_payment_id, user_id, kind, coalesce(reverses_line, line) as line, available_at, expires_at,
    max(event_id) filter (where entry = 'grant') as event_id,
    sum(delta) filter (where entry = 'grant' or entry = 'correction' and delta < 0) as granted,
    coalesce(-sum(delta) filter (where entry <> 'grant' and (entry <> 'correction' or delta > 0)), 0) as reversed
  from credit_ledger
  group by provider_payment_id, user_id, kind, coalesce(reverses_line, line), available_at, expires_at
), month as (
  select l.*, p.occurred_at as paid_at, available_at - lag(available_at) over of_payment < interval '28 days' as same_month
  from grant_line l
  left join payment_facts p using (provider_payment_id)
  where granted <> 0
  window of_payment as (partition by l.provider_payment_id, l.user_id order by available_at, line)
), numbered as (
  select *, count(*) filter (where same_month is not true) over of_payment as number,
    first_value(available_at) over of_payment as first_at
  from month
  window of_payment as (partition by provider_payment_id, user_id order by available_at, line)
), part as (
  select *, number + (
      -- the months of the payment before the first one that has a grant
      select count(*)
      from generate_series(1, (extract(epoch from first_at - paid_at) / (28 * 86400))::int) as m
      where (paid_at at time zone 'UTC' + m * interval '1 month') at time zone 'UTC' <= first_at
    ) as part
  from numbered
)
select provider_payment_id, part, user_id, kind, sum(granted)::bigint as granted, sum(reversed)::bigint as reversed,
  min(available_at) as available_at, min(expires_at) as expires_at,
  (array_agg(event_id order by available_at, line))[1] as event_id
from part
group by provider_payment_id, part, user_id, kind;
