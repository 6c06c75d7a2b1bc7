-- What each user has, in the order of the ids. $1 is a seed that nobody can guess.
with granted as (
  select user_id, sum(delta)::bigint as credits,
    sum(hash_record_extended((kind, delta, available_at, expires_at), $1)) as ledger
  from credit_ledger
  group by user_id
), entitled as (
  select user_id,
    json_agg(json_build_object('product_key', product_key, 'kind', kind, 'active', active, 'status', status,
      'until', until, 'event_id', because_event_id) order by product_key collate "C")::text as rights
  from entitlement
  group by user_id
)
select coalesce(g.user_id, e.user_id) as user_id, coalesce(g.credits, 0), coalesce(g.ledger, 0)::text,
  coalesce(e.rights, '[]')
from granted g full join entitled e on e.user_id = g.user_id
order by coalesce(g.user_id, e.user_id) collate "C"
