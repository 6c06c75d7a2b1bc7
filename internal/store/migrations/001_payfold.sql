-- what outlives every rebuild

create table payfold.schema_state (
  schema_name text primary key,
  fold_id     text not null,
  log_id      text not null,
  partitions  integer not null check (partitions > 0),
  until_seq   bigint check (until_seq >= 0), -- the tables as of that message; null: they follow the log
  created_at  timestamptz not null default now()
);

---- create above / drop below ----

drop table payfold.schema_state;
