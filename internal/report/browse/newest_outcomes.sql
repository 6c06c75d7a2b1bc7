-- the newest $1 events by outcome and reason: how many, and the sequence of the oldest
select outcome, coalesce(reason, ''), count(*), min(stream_seq)
from (select outcome, reason, stream_seq from processed_event order by stream_seq desc limit $1) newest
group by 1, 2
order by 1, 2
