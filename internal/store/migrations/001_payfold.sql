-- what outlives every rebuild

create table payfold.schema_state (
  schema_name text primary key,
  fold_id     text not null,
  log_id      text not null,
  partitions  integer not null check (partitions > 0)
);

---- create above / drop below ----

drop table payfold.schema_state;
