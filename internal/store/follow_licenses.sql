-- a GitHub user that has become known, and licences that were revoked or are
-- active again; all purchases of a user follow the one licence
update payfold.invitation i
set github_username = n.github_username, revoked = n.revoked, due_at = $2, faults = 0, changed_at = $2
from (
  select i.user_id, i.provider_payment_id, l.status = 'revoked' as revoked,
         case when i.status = 'pending' and i.provider_payment_id = l.provider_payment_id
              then coalesce(i.github_username, l.github_username)
              else i.github_username end as github_username
  from payfold.invitation i
  join portal.pro_license l using (user_id)
  where i.repository = $1 and i.status <> 'withdrawn' and ($3::text[] is null or i.user_id = any($3))
) n
where i.user_id = n.user_id and i.repository = $1 and i.provider_payment_id = n.provider_payment_id
  and (i.revoked, i.github_username) is distinct from (n.revoked, n.github_username)
