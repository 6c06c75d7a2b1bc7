-- of the newest $1 events: how many, when the newest was received, and the longest time between two of them, in seconds;
-- and when the first event of all was received
select count(*), max(received_at), coalesce(extract(epoch from max(gap)), 0)::float8,
  (select received_at from processed_event order by stream_seq limit 1)
from (
  select received_at, received_at - lag(received_at) over (order by stream_seq) as gap
  from (select stream_seq, received_at from processed_event order by stream_seq desc limit $1) newest
) gaps
