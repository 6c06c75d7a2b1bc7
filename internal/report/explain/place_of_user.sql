-- the first event of user $1, or of the subscriptions $4, from the sequence $2 on that happened at $3 or later by the
-- provider's clock
select min(stream_seq)
from (
  (
    select stream_seq
    from processed_event
    where user_id = $1 and stream_seq >= $2 and occurred_at >= $3
    order by stream_seq
    limit 1
  )
  union all
  select e.stream_seq
  from unnest($4::text[]) as s(id)
  cross join lateral (
    select stream_seq
    from processed_event
    where subscription_id = s.id and stream_seq >= $2 and occurred_at >= $3
    order by stream_seq
    limit 1
  ) e
) first
