-- records an invitation for every active licence that has none yet (without a
-- repository: none to any); nothing is concluded from a licence that is not there
insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, activated_at, due_at, changed_at)
select l.user_id, $1, l.provider_payment_id, l.github_username, 'pending', l.activated_at, $2, $2
from portal.pro_license l
where l.status = 'active' and ($3::text[] is null or l.user_id = any($3))
  and not exists (
    select from payfold.invitation i
    where i.user_id = l.user_id and (i.repository = $1 or $1 = '') and i.provider_payment_id = l.provider_payment_id
  )
on conflict do nothing
