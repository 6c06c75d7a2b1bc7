-- The derived tables. No types, sequences or functions, and no now() in a row: a
-- schema of them is made by folding the log and can be made again. For their keys
-- and indexes see indexes.go.

create table subscription (
  user_id              text not null,
  subscription_id      text,
  product_key          text,
  status               text not null,
  current_period_start timestamptz,
  current_period_end   timestamptz,
  canceled_at          timestamptz,
  provider_payment_id  text,
  occurred_at          timestamptz not null,
  event_id             text not null,
  stream_seq           bigint not null
);

create table subscription_state (
  subscription_id      text not null,
  user_id              text,
  product_key          text,
  status               text not null,
  current_period_start timestamptz,
  current_period_end   timestamptz,
  canceled_at          timestamptz,
  provider_payment_id  text,
  started_at           timestamptz not null,
  occurred_at          timestamptz not null,
  event_id             text not null,
  stream_seq           bigint not null,
  kind                 text check (kind in ('subscription', 'one_time', 'pro')),
  sold_kind            text check (sold_kind in ('subscription', 'one_time', 'pro')),
  sold_product_key     text,
  sold_credits         bigint check (sold_credits > 0),
  sold_lines           bigint not null default 0,
  sold_valid_months    bigint not null default 0,
  sold_github_username text,
  sold_github_named_at timestamptz,
  holders              bigint not null default 0,
  sold_ranks           bigint not null default 0
);

create table credits (
  user_id    text not null,
  balance    bigint not null,
  granted    bigint not null check (granted >= 0),
  reversed   bigint not null check (reversed >= 0),
  stream_seq bigint not null,
  check (balance = granted - reversed)
);

create table credit_ledger (
  event_id            text not null,
  line                bigint not null check (line > 0),
  user_id             text not null,
  kind                text not null check (kind in ('subscription', 'one_time')),
  entry               text not null check (entry in ('grant', 'refund', 'chargeback', 'correction')),
  delta               bigint not null check (delta <> 0 and (entry = 'correction' or (delta > 0) = (entry = 'grant'))),
  provider_payment_id text not null,
  reverses_event_id   text,
  reverses_line       bigint,
  available_at        timestamptz not null,
  expires_at          timestamptz,
  occurred_at         timestamptz not null,
  stream_seq          bigint not null,
  check ((reverses_event_id is null) = (entry = 'grant') and (reverses_line is null) = (entry = 'grant'))
);

create table pro_license (
  user_id             text not null,
  status              text not null check (status in ('active', 'revoked')),
  github_username     text,
  product_key         text,
  provider_payment_id text not null,
  activated_at        timestamptz not null,
  revoked_at          timestamptz,
  event_id            text not null,
  stream_seq          bigint not null,
  check ((revoked_at is not null) = (status = 'revoked'))
);

create table payment (
  provider_payment_id text not null,
  order_id            text,
  subscription_id     text,
  user_id             text,
  kind                text check (kind in ('subscription', 'one_time', 'pro')),
  product_key         text,
  amount              bigint check (amount >= 0),
  currency            text,
  credits             bigint check (credits > 0),
  refunded_amount     bigint,
  event_id            text not null,
  occurred_at         timestamptz not null,
  stream_seq          bigint not null,
  transaction_id      text,
  first_of_order      boolean not null,
  reversed_at         timestamptz,
  github_username     text,
  github_named_at     timestamptz,
  buyer               text,
  merged_into         text,
  merged_id           text,
  first_at            timestamptz,
  last_at             timestamptz,
  period_start        timestamptz,
  period_end          timestamptz,
  grant_lines         bigint not null default 1,
  valid_months        bigint not null default 0,
  ranks               bigint not null default 0,
  other_user_id       text,
  check (user_id is null or kind is not null and buyer is null),
  check ((github_username is null) = (github_named_at is null))
);

create table reversal (
  event_id            text not null,
  provider_payment_id text not null,
  order_id            text,
  cause               text not null check (cause in ('refund', 'chargeback')),
  status              text,
  amount              bigint check (amount >= 0),
  paid                bigint check (paid >= 0),
  occurred_at         timestamptz not null,
  stream_seq          bigint not null,
  cumulative          boolean not null
);

create table processed_event (
  event_id            text not null,
  stream_seq          bigint not null,
  event_type          text,
  kind                text,
  user_id             text,
  subscription_id     text,
  provider_payment_id text,
  outcome             text not null
                      check (outcome in ('applied', 'duplicate_payment', 'stale', 'ignored', 'rejected')),
  reason              text,
  occurred_at         timestamptz not null,
  received_at         timestamptz not null,
  check ((reason is not null) = (outcome = 'rejected'))
);

create table duplicate_event (
  stream_seq bigint not null,
  event_id   text not null
);

create table checkpoint (
  partition       integer primary key,
  position        bigint not null,
  position_digest bytea,
  log_id          text not null
);

create view credit_balance as
select user_id, sum(delta)::bigint as balance
from credit_ledger
where kind = 'one_time' or (available_at <= now() and (expires_at is null or expires_at > now()))
group by user_id;
