-- the sequences of the newest $3 rejected events after $1 and up to $2 of each reason and type
select reason, coalesce(event_type, ''), (array_agg(stream_seq order by stream_seq desc))[1:$3]
from processed_event
where stream_seq > $1 and stream_seq <= $2 and outcome = 'rejected'
group by 1, 2
