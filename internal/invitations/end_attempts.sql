-- ends expired attempts: their process crashed or froze. If it was about to ask GitHub, the outcome
-- is unknown. An attempt that begins more than a day from now was dated by a wrong clock.
update payfold.invitation_attempt
set outcome = case when unasked then 'not_sent' else 'unknown' end, answered_at = $2, answer = 'no answer was recorded'
where repository = $1 and outcome is null
  and (reserved_at <= $2::timestamptz - $3::interval or reserved_at > $2::timestamptz + interval '25 hours')
