-- what must hold within the tables, whatever the log: each rule, and how many rows break it
with of_payment as (
  select provider_payment_id,
    sum(delta) as left_over,
    sum(delta) filter (where entry = 'grant') as granted,
    min(event_id) filter (where entry = 'grant') as first_grant,
    max(event_id) filter (where entry = 'grant') as last_grant
  from credit_ledger
  group by provider_payment_id
),
payments as (
  select
    count(*) filter (where l.first_grant <> l.last_grant) as grant_twice,
    count(*) filter (where p.provider_payment_id is not null and l.granted is not null and p.credits is distinct from l.granted) as grant_else,
    count(*) filter (where p.provider_payment_id is not null and (l.left_over < 0 or p.reversed_at is not null and l.left_over <> 0)) as reversed_else
  from of_payment l
  left join payment p on p.provider_payment_id = l.provider_payment_id
)
select 'a balance is the sum of its ledger', count(*)
from (select user_id, sum(delta) as total from credit_ledger where kind = 'one_time' group by user_id) l
full join credits c using (user_id)
where l.total is distinct from c.balance
union all
select 'a payment grants once', grant_twice from payments
union all
select 'a ledger line is of a payment of its user and kind', count(*)
from credit_ledger l
left join payment p using (provider_payment_id)
where p.user_id is distinct from l.user_id or p.kind is distinct from l.kind
union all
select 'the grants of a payment are its credits', grant_else from payments
union all
select 'a payment is reversed at most once over, and wholly where it says so', reversed_else from payments
union all
select 'a licence is active while a pro payment is not reversed', count(*)
from pro_license l
where (l.status = 'active') <> exists (
  select from payment p where p.user_id = l.user_id and p.kind = 'pro' and p.reversed_at is null)
