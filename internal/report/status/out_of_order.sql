-- the newest out-of-order events of schema $1; if $2 is not null, only those of the messages $2
select d.stream_seq, coalesce(e.event_id, de.event_id, ''), d.later_seq, coalesce(l.event_id, dl.event_id, ''), d.shared, d.noticed_at
from payfold.disorder d
join payfold.schema_state s on s.log_id = d.log_id and s.created_at = d.schema_created_at
left join processed_event e on e.stream_seq = d.stream_seq
left join duplicate_event de on de.stream_seq = d.stream_seq
left join processed_event l on l.stream_seq = d.later_seq
left join duplicate_event dl on dl.stream_seq = d.later_seq
where s.schema_name = $1
  and ($2::bigint[] is null or d.stream_seq = any($2) or d.later_seq = any($2))
order by d.noticed_at desc, d.stream_seq desc
limit $3
