-- withdraws invitations that GitHub cannot have sent; no request is needed
update payfold.invitation i
set status = 'withdrawn', reason = 'revoked before it was sent', changed_at = $2
where i.repository = $1 and i.revoked and i.status in ('pending', 'failed')
  and i.invited_at is null and ($3::text[] is null or i.user_id = any($3))
  and not exists (
    select from payfold.invitation_attempt a
    where a.user_id = i.user_id and a.repository = i.repository and a.provider_payment_id = i.provider_payment_id
      and a.outcome is distinct from 'not_sent'
  )
