-- projectors that share the work, and what they found

create table payfold.member (
  owner     text primary key,
  last_seen timestamptz not null
);

create table payfold.lease (
  partition  integer primary key,
  owner      text not null,
  expires_at timestamptz not null
);

-- Events whose rows the database refused, part of the input of every fold of
-- that log, which rejects them as internal.
create table payfold.poison (
  log_id     text not null,
  stream_seq bigint not null,
  error      text not null,
  found_at   timestamptz not null default now(),
  primary key (log_id, stream_seq)
);

-- Events applied after a later one of the log that names the same user,
-- subscription, payment or event id. settle or a rebuild
-- repairs this.
create table payfold.disorder (
  log_id     text not null,
  stream_seq bigint not null,
  later_seq  bigint not null check (later_seq > stream_seq),
  shared     text not null check (shared in ('event_id', 'user', 'subscription', 'payment')),
  noticed_at timestamptz not null default now(),
  primary key (log_id, stream_seq)
);

---- create above / drop below ----

drop table payfold.disorder;
drop table payfold.poison;
drop table payfold.lease;
drop table payfold.member;
