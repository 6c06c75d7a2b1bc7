-- the customers who owe credits: only somebody who has spent credits that were taken back can. $1 customers at most
select count(*), coalesce(-sum(balance), 0)::bigint
from (
  select wallet.balance(user_id) as balance
  from (
    select distinct l.user_id from credit_ledger l
    where l.delta < 0 and exists (select from wallet.spend s where s.user_id = l.user_id) limit $1
  ) candidates
) balances
where balance < 0
