-- the sequences of the newest events of the payments $2 that are not the user's own: those that came before the
-- user was known, and those that name somebody else
select stream_seq
from processed_event
where provider_payment_id = any($2::text[]) and user_id is distinct from $1 and coalesce(subscription_id <> all($3::text[]), true)
order by stream_seq + 0 desc
limit $4
