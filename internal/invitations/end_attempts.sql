-- ends attempts that have expired: their process crashed or froze, and nobody knows what
-- GitHub did
update payfold.invitation_attempt
set outcome = 'unknown', answered_at = $2, answer = 'no answer was recorded'
where repository = $1 and outcome is null and reserved_at <= $2::timestamptz - $3::interval
