create table duplicate_event (
  stream_seq bigint not null,
  event_id   text not null
)
