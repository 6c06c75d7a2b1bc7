-- the newest out-of-order events of schema $1; if $2 is not null, only those of the messages $2
select o.stream_seq, coalesce(e.event_id, de.event_id, ''), o.later_seq, coalesce(l.event_id, dl.event_id, ''), o.shared, o.noticed_at
from payfold.out_of_order_event o
join payfold.schema_state s on s.log_id = o.log_id and s.created_at = o.schema_created_at
left join processed_event e on e.stream_seq = o.stream_seq
left join duplicate_event de on de.stream_seq = o.stream_seq
left join processed_event l on l.stream_seq = o.later_seq
left join duplicate_event dl on dl.stream_seq = o.later_seq
where s.schema_name = $1
  and ($2::bigint[] is null or o.stream_seq = any($2) or o.later_seq = any($2))
order by o.noticed_at desc, o.stream_seq desc
limit $3
