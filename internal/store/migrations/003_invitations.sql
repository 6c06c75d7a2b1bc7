-- invitations to the repository that licences give access to; no rebuild touches them

create table payfold.invitation (
  user_id             text not null,
  repository          text not null, -- owner/name; empty while none is configured
  provider_payment_id text not null,
  github_username     text,          -- null: not known yet
  status              text not null
                      check (status in ('pending', 'invited', 'collaborator', 'failed', 'expired', 'declined', 'withdrawn')),
  reason              text,          -- GitHub's words, or payfold's reason
  invitation_id       bigint,        -- GitHub's
  invited_at          timestamptz,   -- when GitHub made the invitation; null: payfold knows of none
  activated_at        timestamptz not null, -- of the licence: the oldest goes first
  revoked             boolean not null default false, -- the purchase was refunded at the last scan
  repeats             integer not null default 0 check (repeats >= 0), -- invitations that replaced expired ones
  faults              integer not null default 0 check (faults >= 0),  -- tries in a row that GitHub did not answer
  due_at              timestamptz not null, -- GitHub is not asked about it before
  changed_at          timestamptz not null,
  primary key (user_id, repository, provider_payment_id),
  check (status <> 'invited' or invited_at is not null)
);
create index invitation_waiting on payfold.invitation (repository, faults, activated_at, user_id)
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
