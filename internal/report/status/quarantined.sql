-- the newest quarantined events of log $1; if $2 is not null, only those of the messages $2
select p.stream_seq, coalesce(e.event_id, ''), p.error, p.found_at
from payfold.poison p
left join processed_event e on e.stream_seq = p.stream_seq
where p.log_id = $1
  and ($2::bigint[] is null or p.stream_seq = any($2))
order by p.found_at desc, p.stream_seq desc
limit $3
