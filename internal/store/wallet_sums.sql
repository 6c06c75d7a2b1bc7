-- the rules that hold in schema wallet, each with the number of rows that break it
with taken as (
  select key, user_id, provider_payment_id, part, sum(amount) as amount,
    sum(amount) filter (where entry = 'give_back') as given_back
  from wallet.spend_part
  group by key, user_id, provider_payment_id, part
), of_key as (
  select key, sum(amount) - coalesce(sum(given_back), 0) as amount, min(user_id) as one,
    max(user_id) as other
  from taken
  group by key
)
select 'a spend has taken from grants of its user what it says', count(*)
from wallet.spend s
left join of_key p using (key)
where p.one <> s.user_id or p.other <> s.user_id or coalesce(p.amount, 0) <>
  case s.state when 'spent' then coalesce(s.confirmed, s.amount) when 'held' then s.amount else 0 end
union all
select 'no more went back to a grant than was taken from it', count(*) from taken where amount < 0
