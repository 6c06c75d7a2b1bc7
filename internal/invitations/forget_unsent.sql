-- forgets withdrawn invitations that were never sent, where the purchase is kept after all; $2, which
-- every step of a scan has, is the present
delete from payfold.invitation i
using portal.payment p
where i.repository = $1 and i.status = 'withdrawn' and i.invited_at is null and ($3::text[] is null or i.user_id = any($3))
  and p.user_id = i.user_id and p.provider_payment_id = i.provider_payment_id and p.kind = 'pro' and p.reversed_at is null and i.changed_at <= $2
