-- makes invitations pending again that would not be repeated, for the GitHub user that
-- the purchase names now, and without earlier failures. An invitation that was sent to another name is
-- forgotten. Withdrawn ones stay withdrawn.
update payfold.invitation i
set status = 'pending', reason = 'asked for again', github_username = coalesce(p.github_username, i.github_username),
    invitation_id = case when lower(coalesce(p.github_username, i.github_username)) = lower(i.github_username) then i.invitation_id end,
    invited_at = case when lower(coalesce(p.github_username, i.github_username)) = lower(i.github_username) then i.invited_at end,
    repeats = 0, consecutive_failures = 0, due_at = $2, changed_at = $2
from portal.license_facts p
where i.user_id = $1 and p.user_id = $1 and i.provider_payment_id = p.provider_payment_id and p.ended_at is null
  and not i.revoked
  and (i.status in ('failed', 'expired', 'declined') or i.status = 'pending' and i.consecutive_failures > 0)
  and not exists (
    select from payfold.invitation_attempt a
    where a.user_id = i.user_id and a.repository = i.repository and a.provider_payment_id = i.provider_payment_id
      and a.outcome is null
  )
returning i.repository
