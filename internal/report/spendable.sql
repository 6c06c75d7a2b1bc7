-- sums of a user's subscription grants now: available, available later, expired
select coalesce(sum(delta) filter (where available_at <= now() and (expires_at is null or expires_at > now())), 0)::bigint,
       coalesce(sum(delta) filter (where available_at > now()), 0)::bigint,
       coalesce(sum(delta) filter (where available_at <= now() and expires_at <= now()), 0)::bigint
from credit_ledger
where user_id = $1 and kind = 'subscription'
