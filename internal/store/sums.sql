-- the rules that hold in the tables of any log, each with the number of rows that break it
with of_payment as (
  select provider_payment_id, user_id, kind, sum(delta) as left_over,
    sum(delta) filter (where entry = 'grant' or entry = 'correction' and delta < 0) as granted
  from credit_ledger
  group by 1, 2, 3
),
payments as (
  select
    count(*) filter (where l.granted <> 0 and (p.provider_payment_id is null or p.user_id is distinct from l.user_id)) as of_another,
    count(p.provider_payment_id) filter (where l.granted <> case when p.user_id is distinct from l.user_id or p.kind <> l.kind then 0 else coalesce(p.credits, 0) end) as grant_else,
    count(p.provider_payment_id) filter (where l.left_over < 0 or p.reversed_at is not null and l.left_over <> 0) as reversed_else
  from of_payment l
  left join payment_facts p on p.provider_payment_id = l.provider_payment_id
)
select 'a balance is the sum of its ledger', count(*)
from (select user_id, sum(delta) as total from credit_ledger where kind = 'one_time' and expires_at is null group by user_id) l
full join credits c using (user_id)
where l.total is distinct from c.balance
union all
select 'a ledger line is of a payment of its user', of_another from payments
union all
select 'a payment has granted its credits, once', grant_else from payments
union all
select 'a payment is reversed at most once over, and wholly where it says so', reversed_else from payments
union all
select 'a licence is active while a payment gives it', count(*)
from pro_license l
where (l.status = 'active') <> exists (select from license_facts p where p.user_id = l.user_id and p.newest and p.ended_at is null)
