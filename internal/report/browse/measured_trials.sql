-- the subscriptions whose facts may name a trial, with the time of their first payment of more than 0, the facts of those
-- payments with which the trial may begin, and whether their trial runs. The facts decide; the text in their bytes only
-- spares reading all of them
select s.facts, p.first, p.in_trial, s.status = 'trialing' and s.counts_until > now() is not false
from subscription_facts s
cross join lateral (
  select min(occurred_at) filter (where not named) as first, array_agg(facts) filter (where named) as in_trial
  from (
    select occurred_at, facts, coalesce(position('trialing'::bytea in facts) > 0, false) as named
    from payment_facts
    where subscription_id = s.subscription_id and paid and amount > 0
  ) one
) p
where s.user_id is not null and s.status is not null and position('trialing'::bytea in s.facts) > 0
