-- schema payfold: what outlives every rebuild

-- The table of the migrations has no key. Without this its update fails where a publication is for all tables.
alter table payfold.schema_version replica identity full;

-- the schemas of derived tables: the live one and candidates
create table payfold.schema_state (
  schema_name   text primary key,
  fold_id       text not null,
  log_id        text not null,
  partitions    integer not null check (partitions > 0),
  until_seq     bigint check (until_seq >= 0), -- the tables as of that message; null: they follow the log
  created_at    timestamptz not null default now(),
  promoted_from text,        -- its name before a promotion made it live; null: none did
  promoted_at   timestamptz,
  reported_at   timestamptz, -- when the command had reported the promotion; null: it may have been killed before
  -- When settle last replaced rows of these tables without moving a position. A projector
  -- that keeps rows in memory reads them again after that.
  settled_at    timestamptz
);

-- projectors that share the work
create table payfold.member (
  owner     text primary key,
  last_seen timestamptz not null
);

create table payfold.lease (
  partition  integer primary key,
  owner      text not null,
  expires_at timestamptz not null
);

-- Events whose rows the database refused. They are part of the input of every fold of
-- that log, which rejects them as internal.
create table payfold.quarantined_event (
  log_id     text not null,
  stream_seq bigint not null,
  error      text not null,
  found_at   timestamptz not null default now(),
  primary key (log_id, stream_seq)
);

-- Events applied after a later one of the log that names the same user, subscription,
-- payment or event id. settle or a rebuild repairs this.
create table payfold.out_of_order_event (
  log_id            text not null,
  stream_seq        bigint not null,
  later_seq         bigint not null check (later_seq > stream_seq),
  shared            text not null check (shared in ('event_id', 'user', 'subscription', 'payment')),
  noticed_at        timestamptz not null default now(),
  schema_created_at timestamptz not null, -- schema_state.created_at of the tables to which it was applied
  primary key (log_id, stream_seq)
);

-- invitations to the repository that licences give access to
create table payfold.invitation (
  user_id              text not null,
  repository           text not null, -- owner/name; empty while none is configured
  provider_payment_id  text not null,
  github_username      text,          -- null: not known yet
  status               text not null
                       check (status in ('pending', 'invited', 'collaborator', 'failed', 'expired', 'declined', 'withdrawn')),
  reason               text,          -- GitHub's words, or payfold's reason
  invitation_id        bigint,        -- GitHub's
  invited_at           timestamptz,   -- when GitHub made the invitation; null: payfold knows of none
  not_ours             boolean not null default false, -- somebody else made it, or it has ended: any access now is from somebody else
  activated_at         timestamptz not null,           -- of the licence: the oldest goes first
  revoked              boolean not null default false, -- the purchase was refunded at the last scan
  repeats              integer not null default 0 check (repeats >= 0), -- invitations that replaced expired ones
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0), -- tries in a row that GitHub did not answer
  due_at               timestamptz not null, -- GitHub is not asked about it before
  changed_at           timestamptz not null,
  primary key (user_id, repository, provider_payment_id),
  check (status <> 'invited' or invited_at is not null)
);
create index invitation_waiting on payfold.invitation (repository, consecutive_failures, activated_at, user_id)
  where status = 'pending' and github_username is not null and not revoked;
create index invitation_revoked on payfold.invitation (repository, due_at) where revoked and status <> 'withdrawn';
create index invitation_invited on payfold.invitation (repository, due_at) where status = 'invited';
create index invitation_name on payfold.invitation (repository, lower(github_username));

-- Reserved before GitHub is asked anything: nobody else asks about that GitHub
-- user until the answer is recorded or the attempt has expired.
create table payfold.invitation_attempt (
  attempt_id          bigint generated always as identity primary key,
  user_id             text not null,
  repository          text not null,
  provider_payment_id text not null,
  github_username     text not null,
  purpose             text not null check (purpose in ('invite', 'watch', 'withdraw')),
  reserved_at         timestamptz not null,
  unasked             boolean not null, -- reserved, and GitHub was not asked yet to change anything
  answered_at         timestamptz,
  outcome             text check (outcome in ('sent', 'not_sent', 'unknown')), -- null: under way, or its process died
  answer              text,
  check (outcome is null or answered_at is not null)
);
create unique index invitation_attempt_one_at_a_time
  on payfold.invitation_attempt (repository, lower(github_username)) where outcome is null;
create index invitation_attempt_name on payfold.invitation_attempt (repository, lower(github_username));
create index invitation_attempt_quota on payfold.invitation_attempt (repository, reserved_at)
  where purpose = 'invite' and outcome is distinct from 'not_sent';

-- During a pause no process asks GitHub anything.
create table payfold.invitation_pause (
  repository   text primary key,
  paused_until timestamptz not null,
  cause        text not null check (cause in ('limit', 'denied', 'fault')),
  reason       text not null
);

---- create above / drop below ----

drop table payfold.invitation_pause;
drop table payfold.invitation_attempt;
drop table payfold.invitation;
drop table payfold.out_of_order_event;
drop table payfold.quarantined_event;
drop table payfold.lease;
drop table payfold.member;
drop table payfold.schema_state;
