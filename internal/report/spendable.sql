-- what a user's subscription grants come to now: available, still to come, expired
select coalesce(sum(delta) filter (where available_at <= now() and (expires_at is null or expires_at > now())), 0)::bigint,
       coalesce(sum(delta) filter (where available_at > now()), 0)::bigint,
       coalesce(sum(delta) filter (where available_at <= now() and expires_at <= now()), 0)::bigint
from credit_ledger
where user_id = $1 and kind = 'subscription'
