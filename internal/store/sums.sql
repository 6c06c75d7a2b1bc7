-- what must hold within the tables, whatever the log: each rule, and how many rows break it
select 'a balance is the sum of its ledger', count(*)
from (select user_id, sum(delta) as total from credit_ledger where kind = 'one_time' group by user_id) l
full join credits c using (user_id)
where l.total is distinct from c.balance
union all
select 'a payment grants once', count(*)
from (select from credit_ledger where entry = 'grant' group by provider_payment_id having count(distinct event_id) > 1) twice
union all
select 'a ledger line is of a payment of its user and kind', count(*)
from credit_ledger l
left join payment p using (provider_payment_id)
where p.user_id is distinct from l.user_id or p.kind is distinct from l.kind
union all
select 'the grants of a payment are its credits', count(*)
from (select provider_payment_id, sum(delta) as granted from credit_ledger where entry = 'grant' group by provider_payment_id) l
join payment p using (provider_payment_id)
where p.credits is distinct from l.granted
union all
select 'a payment is reversed at most once over, and wholly where it says so', count(*)
from (select provider_payment_id, sum(delta) as left_over from credit_ledger group by provider_payment_id) l
join payment p using (provider_payment_id)
where l.left_over < 0 or (p.reversed_at is not null and l.left_over <> 0)
union all
select 'a licence is active while a pro payment is not reversed', count(*)
from pro_license l
where (l.status = 'active') <> exists (
  select from payment p where p.user_id = l.user_id and p.kind = 'pro' and p.reversed_at is null)
