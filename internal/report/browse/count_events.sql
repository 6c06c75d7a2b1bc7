-- the events after $1 and up to $2 by outcome and reason; rejected ones by type, too
select outcome, coalesce(reason, ''), case when outcome = 'rejected' then coalesce(event_type, '') else '' end, count(*), min(stream_seq)
from processed_event
where stream_seq > $1 and stream_seq <= $2
group by 1, 2, 3
