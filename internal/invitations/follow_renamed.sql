-- moves invitations to the new ids of their payments: two payments turned out to be one, or other rules
-- give other ids (then time and GitHub user identify the payment). If the payment has an
-- invitation already, or belongs to another user now, this one ends. Of several payments, one without an invitation is
-- preferred. Without a payment an
-- invitation stays unchanged.
with lost as (
  select i.user_id, i.provider_payment_id, i.github_username, i.activated_at
  from payfold.invitation i
  where i.repository = $1 and not i.revoked and i.status <> 'withdrawn' and ($3::text[] is null or i.user_id = any($3))
    and not exists (
      select from portal.payment_facts p where p.user_id = i.user_id and p.provider_payment_id = i.provider_payment_id
    )
    and not exists ( -- an attempt under way records its answer under the old id
      select from payfold.invitation_attempt a
      where a.repository = i.repository and lower(a.github_username) = lower(i.github_username) and a.outcome is null
    )
), found as (
  select distinct on (l.user_id, l.provider_payment_id) l.user_id, l.provider_payment_id, p.provider_payment_id as is_now, name.certain
  from lost l
  join portal.payment_facts p on p.user_id = l.user_id and p.kind = 'pro'
  cross join lateral (
    select coalesce(l.provider_payment_id in (p.transaction_id, p.order_id), false)
  ) as name (certain)
  where name.certain
     or p.occurred_at = l.activated_at and lower(p.github_username) is not distinct from lower(l.github_username)
  order by l.user_id, l.provider_payment_id, name.certain desc, exists (
      select from payfold.invitation o
      where o.user_id = l.user_id and o.repository = $1 and o.provider_payment_id = p.provider_payment_id
    ), p.provider_payment_id
), others as ( -- payments that belong to another user now
  select l.user_id, l.provider_payment_id
  from lost l
  join portal.payment_facts p on p.provider_payment_id = l.provider_payment_id or p.order_id = l.provider_payment_id
  where p.user_id <> l.user_id
    and not exists (select from found f where f.user_id = l.user_id and f.provider_payment_id = l.provider_payment_id)
), decided as (
  select f.*, row_number() over (partition by f.user_id, f.is_now order by f.certain desc, f.provider_payment_id) = 1
         and not exists (
           select from payfold.invitation o
           where o.user_id = f.user_id and o.repository = $1 and o.provider_payment_id = f.is_now
         ) as moves
  from found f
  union all
  select o.*, null, true, false
  from others o
), changed as (
  update payfold.invitation i
  set provider_payment_id = case when d.moves then d.is_now else i.provider_payment_id end,
      revoked = not d.moves, due_at = case when d.moves then i.due_at else $2 end, changed_at = $2
  from decided d
  where i.user_id = d.user_id and i.repository = $1 and i.provider_payment_id = d.provider_payment_id and (d.moves or d.certain)
)
update payfold.invitation_attempt a
set provider_payment_id = d.is_now
from decided d
where d.moves and a.user_id = d.user_id and a.repository = $1 and a.provider_payment_id = d.provider_payment_id
