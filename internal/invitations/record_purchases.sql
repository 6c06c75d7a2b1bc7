-- records an invitation for every kept purchase that has none for this repository (without a
-- repository: none for any). If an invitation of the same GitHub user was declined or
-- expired after the purchase, that outcome counts for this purchase, too.
-- A purchase that ended in the last seven days is recorded as revoked: GitHub keeps an
-- invitation for so long, and a fail-over of the database may have lost its record.
-- If a purchase is kept after all, its withdrawn invitation is recorded anew. An invitation that was
-- sent keeps its GitHub user and its id.
-- A purchase waits while an invitation without a payment may be its own: follow_renamed.sql moves it later.
with purchase as (
  select user_id, provider_payment_id, github_username, occurred_at, ended_at
  from portal.license_facts
), ended as (
  select distinct on (user_id, lower(github_username)) user_id, lower(github_username) as name, status, reason, changed_at
  from payfold.invitation
  where repository = $1 and status in ('declined', 'expired')
  order by user_id, lower(github_username), changed_at desc
)
insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, reason, activated_at, revoked, due_at, changed_at)
select p.user_id, $1, p.provider_payment_id, p.github_username, coalesce(e.status, 'pending'), e.reason, p.occurred_at, p.ended_at is not null, $2, $2
from purchase p
left join ended e on e.user_id = p.user_id and e.name = lower(p.github_username) and e.changed_at > p.occurred_at
where ($3::text[] is null or p.user_id = any($3))
  and (p.ended_at is null or $1 <> '' and p.github_username is not null and p.ended_at > $2::timestamptz - interval '7 days')
  and not exists (
    select from payfold.invitation i
    where i.user_id = p.user_id and (i.repository = $1 or $1 = '') and i.provider_payment_id = p.provider_payment_id
      and (i.status <> 'withdrawn' or i.repository <> $1 or p.ended_at is not null)
  )
  and not exists (
    select from payfold.invitation i
    where i.user_id = p.user_id and i.repository = $1 and not i.revoked and i.status <> 'withdrawn'
      and i.activated_at = p.occurred_at and lower(i.github_username) is not distinct from lower(p.github_username)
      and not exists (
        select from portal.payment_facts f where f.user_id = i.user_id and f.provider_payment_id = i.provider_payment_id
      )
      and not exists (
        select from payfold.invitation o
        where o.user_id = p.user_id and o.repository = $1 and o.provider_payment_id = p.provider_payment_id
      )
  )
on conflict (user_id, repository, provider_payment_id) do update
set github_username = case when invitation.invited_at is null then excluded.github_username else invitation.github_username end,
    status = excluded.status, reason = excluded.reason, revoked = false, repeats = 0, consecutive_failures = 0, due_at = $2, changed_at = $2
where invitation.status = 'withdrawn' and not excluded.revoked
