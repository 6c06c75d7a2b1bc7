-- chooses and reserves the next attempt, one with the fewest consecutive failures: first new invitations within
-- the quota, the oldest purchase first; then withdrawals; then invitations to look at again. An
-- invitation needs a kept purchase: it is not refunded, and if it lasts as long as its subscription, that has not ended. A
-- withdrawal needs one that was not kept at the last scan and is not kept now. A GitHub user waits while an attempt is
-- under way, and for $4 (lateAction) after one of unknown outcome, because GitHub may still act on its request. A time
-- further ahead than $5 (maxAhead) does not count.
with quota as (
  select count(*) as used
  from payfold.invitation_attempt
  where repository = $1 and purpose = 'invite' and outcome is distinct from 'not_sent'
    and reserved_at > $2::timestamptz - interval '24 hours' and reserved_at <= $2::timestamptz + $5::interval
), free as not materialized (
  select i.*
  from payfold.invitation i
  where i.repository = $1 and i.github_username is not null and i.due_at <= $2 and i.status <> 'withdrawn'
    and lower(i.github_username) <> all (array(
      select lower(github_username) from payfold.invitation_attempt where repository = $1 and outcome is null
      union all
      select lower(github_username) from payfold.invitation_attempt
      where repository = $1 and outcome = 'unknown'
        and answered_at > $2::timestamptz - $4::interval and answered_at <= $2::timestamptz + $5::interval
    ))
), kept as not materialized (
  select user_id, provider_payment_id, github_username
  from portal.license_facts
  where ended_at is null
), wanted as not materialized (
  select f.*
  from free f
  join kept using (user_id, provider_payment_id)
  where f.status = 'pending' and not f.revoked
), candidate as (
  (select 1 as turn, 'invite' as purpose, f.*
   from wanted f
   where (select used from quota) < $3
   order by f.consecutive_failures, f.activated_at, f.user_id
   limit 1)
  union all
  -- the quota already has an attempt of unknown outcome
  (select 2, 'invite', f.*
   from wanted f
   where lower(f.github_username) = any (array( -- found once: thousands of purchases may wait
     select lower(github_username) from payfold.invitation_attempt
     where repository = $1 and purpose = 'invite' and outcome = 'unknown'
       and reserved_at > $2::timestamptz - interval '24 hours' and reserved_at <= $2::timestamptz + $5::interval
   ))
   order by f.consecutive_failures, f.activated_at, f.user_id
   limit 1)
  union all
  (select 3, 'withdraw', f.*
   from free f
   left join kept using (user_id, provider_payment_id)
   where f.revoked and kept.user_id is null
   order by f.due_at, f.user_id
   limit 1)
  union all
  (select 4, 'watch', f.*
   from free f
   join kept using (user_id, provider_payment_id)
   where f.status = 'invited' and not f.revoked
   order by f.due_at, f.user_id
   limit 1)
), next as (
  select * from candidate order by consecutive_failures, turn limit 1
), reserved as (
  insert into payfold.invitation_attempt (user_id, repository, provider_payment_id, github_username, purpose, reserved_at, unasked)
  select user_id, repository, provider_payment_id, github_username, purpose, $2, true from next
  returning attempt_id
)
select reserved.attempt_id, n.purpose, n.user_id, n.repository, n.provider_payment_id, n.github_username, n.status, n.reason,
       n.invitation_id, n.invited_at, n.activated_at, n.revoked, n.repeats, n.consecutive_failures, n.due_at, n.changed_at, n.not_ours,
       u.since is not null as unknown,
       -- payfold may have invited from this time on: for this purchase, one with a lost record, or in an attempt of unknown outcome
       least(n.activated_at, u.since, (select min(o.activated_at) from payfold.invitation o
        where o.repository = n.repository and lower(o.github_username) = lower(n.github_username)
          and o.status = 'pending' and o.invited_at is null)) as may_since,
       -- payfold invited this GitHub user, for this purchase or another one
       exists (select from payfold.invitation o
        where o.repository = n.repository and lower(o.github_username) = lower(n.github_username)
          and o.invited_at is not null and not o.not_ours) as invited_by_us,
       -- payfold's invitations that may be open; GitHub lists them under another name if the account was renamed
       array(select o.invitation_id from payfold.invitation o
        where o.repository = n.repository and o.status in ('pending', 'invited') and o.invitation_id is not null and not o.not_ours) as sent,
       -- another kept purchase, of any user, names the same GitHub user or has the same invitation
       exists (select from payfold.invitation o
        where o.repository = n.repository and (lower(o.github_username) = lower(n.github_username) or o.invitation_id = n.invitation_id)
          and (o.user_id, o.provider_payment_id) <> (n.user_id, n.provider_payment_id)
          and not o.revoked and o.status <> 'withdrawn'
          and not exists (select from portal.payment_facts p
            left join kept using (user_id, provider_payment_id)
            where p.user_id = o.user_id and p.provider_payment_id = o.provider_payment_id and kept.user_id is null))
       or exists (select from kept -- it has no invitation yet
        where kept.github_username is not null and lower(kept.github_username) = lower(n.github_username)
          and not exists (select from payfold.invitation o
            where o.user_id = kept.user_id and o.repository = n.repository and o.provider_payment_id = kept.provider_payment_id)) as shared
from next n, reserved, lateral (
  select min(a.reserved_at) as since
  from payfold.invitation_attempt a
  where a.repository = n.repository and lower(a.github_username) = lower(n.github_username)
    and a.purpose = 'invite' and a.outcome = 'unknown'
) u
