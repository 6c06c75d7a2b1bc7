-- the newest $1 rejected events by reason and type: how many, the sequence of the oldest, and those of the newest $2
select reason, coalesce(event_type, ''), count(*), min(stream_seq), (array_agg(stream_seq order by stream_seq desc))[1:$2]
from (select reason, event_type, stream_seq from processed_event where outcome = 'rejected' order by stream_seq desc limit $1) newest
group by 1, 2
order by max(stream_seq) desc
