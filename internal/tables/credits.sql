create table credits (
  user_id    text not null,
  balance    bigint not null,
  granted    bigint not null check (granted >= 0),
  reversed   bigint not null check (reversed >= 0),
  stream_seq bigint not null,
  check (balance = granted - reversed)
)
