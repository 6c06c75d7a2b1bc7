-- the customers who owe credits, and the $2 who owe most: only somebody who has spent credits that were taken back can.
-- The wallets of $1 customers are added up, at most; last: whether these are all
with candidate as materialized (
  select distinct l.user_id from credit_ledger l
  where l.delta < 0 and exists (select from wallet.spend s where s.user_id = l.user_id) limit $1
), debtor as materialized (
  select user_id, wallet.balance(user_id) as balance from candidate
)
select count(*), coalesce(-sum(balance), 0)::bigint,
  coalesce((array_agg(user_id order by balance, user_id))[1:$2], '{}'),
  (select count(*) < $1 from candidate)
from debtor
where balance < 0
