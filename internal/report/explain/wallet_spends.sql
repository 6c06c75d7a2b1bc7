-- the newest spends and holds of user $1, at most $2, each with what it took of which grant. A hold whose time is over
-- is released, also before the next change of its user says so.
select s.key, s.created_at, case when s.over then 'released' else s.state end as state, s.amount, s.held_until,
  s.confirmed, s.note, coalesce(taken.given_back, 0) as given_back, coalesce(taken.grants, '[]') as grants
from (
  select *, state = 'held' and held_until <= now() as over
  from wallet.spend
  where user_id = $1
  order by created_at desc, key desc
  limit $2
) s
left join lateral (
  select sum(given_back)::bigint as given_back,
    jsonb_agg(jsonb_build_object('provider_payment_id', provider_payment_id, 'part', part, 'credits', credits,
      'given_back', given_back) order by place) as grants
  from (
    select provider_payment_id, part, sum(amount) filter (where entry <> 'give_back') as credits,
      coalesce(-sum(amount) filter (where entry = 'give_back'), 0) as given_back, min(number) as place
    from wallet.spend_part
    where key = s.key
    group by provider_payment_id, part
  ) of_grant
  where credits > 0 and not s.over
) taken on true
order by s.created_at, s.key
