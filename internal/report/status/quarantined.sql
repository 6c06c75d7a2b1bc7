-- the newest quarantined events of log $1; if $2 is not null, only those of the messages $2
select q.stream_seq, coalesce(e.event_id, ''), q.error, q.found_at
from payfold.quarantined_event q
left join processed_event e on e.stream_seq = q.stream_seq
where q.log_id = $1
  and ($2::bigint[] is null or q.stream_seq = any($2))
order by q.found_at desc, q.stream_seq desc
limit $3
