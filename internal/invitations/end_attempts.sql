-- ends expired attempts: their process crashed or froze. If it was about to ask GitHub, the outcome
-- is unknown. The begin of an attempt further ahead than $4 (maxAhead) was dated by a wrong clock.
update payfold.invitation_attempt
set outcome = case when unasked then 'not_sent' else 'unknown' end, answered_at = $2, answer = 'no answer was recorded'
where repository = $1 and outcome is null
  and (reserved_at <= $2::timestamptz - $3::interval or reserved_at > $2::timestamptz + $4::interval)
