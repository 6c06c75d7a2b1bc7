-- the subscriptions whose facts may name a trial, with the time of their first payment of more than 0, and whether
-- their trial runs. The facts decide; the text in their bytes only spares reading all of them
select s.facts, (
    select min(p.occurred_at)
    from payment_facts p
    where p.subscription_id = s.subscription_id and p.paid and p.amount > 0),
  s.status = 'trialing' and s.counts_until > now() is not false
from subscription_facts s
where s.user_id is not null and s.status is not null and position('trialing'::bytea in s.facts) > 0
