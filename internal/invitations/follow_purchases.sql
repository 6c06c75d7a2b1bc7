-- updates invitations after changes of their purchases. A purchase may be refunded, end with its
-- subscription, get another kind, or be kept after all. If it lacks something for its new kind, it is unclaimed. Its GitHub
-- user may become known, or change before GitHub was asked.
-- If a purchase is kept after all, a withdrawal may have ended the access. So the invitation is
-- pending again, and the next attempt looks.
update payfold.invitation i
set github_username = n.github_username, revoked = n.revoked,
    status = case when i.revoked and not n.revoked then 'pending' else i.status end,
    repeats = case when i.revoked and not n.revoked then 0 else i.repeats end, due_at = $2, consecutive_failures = 0, changed_at = $2
from (
  select i.user_id, i.provider_payment_id, l.provider_payment_id is null or l.ended_at is not null as revoked,
         case when i.status = 'pending' and i.invited_at is null and not exists (
           select from payfold.invitation_attempt a
           where a.repository = i.repository and lower(a.github_username) = lower(i.github_username)
             and a.user_id = i.user_id and a.provider_payment_id = i.provider_payment_id
             and a.outcome is distinct from 'not_sent'
         ) then p.github_username else i.github_username end as github_username
  from payfold.invitation i
  join portal.payment_facts p on p.provider_payment_id = i.provider_payment_id and (p.user_id = i.user_id or p.user_id is null and p.paid and p.kind is distinct from 'pro')
  left join portal.license_facts l on l.provider_payment_id = p.provider_payment_id
  where i.repository = $1 and i.status <> 'withdrawn' and ($3::text[] is null or i.user_id = any($3))
) n
where i.user_id = n.user_id and i.repository = $1 and i.provider_payment_id = n.provider_payment_id
  and (i.revoked, i.github_username) is distinct from (n.revoked, n.github_username)
