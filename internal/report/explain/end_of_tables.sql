-- whether the tables of schema $1 end at a message, and the last event before $2 that they have
select coalesce((select until_seq is not null from payfold.schema_state where schema_name = $1), false),
  e.stream_seq, e.received_at
from (select) as always
left join lateral (
  select stream_seq, received_at
  from processed_event
  where stream_seq < $2
  order by stream_seq desc
  limit 1
) e on true
