create table processed_event (
  event_id            text not null,
  stream_seq          bigint not null,
  provider            text,
  event_type          text,
  action              text not null check (action in ('payment', 'checkout', 'subscription', 'reversal', 'none')),
  kind                text,
  user_id             text,
  subscription_id     text,
  provider_payment_id text,
  outcome             text not null
                      check (outcome in ('applied', 'duplicate_payment', 'stale', 'ignored', 'rejected')),
  reason              text,
  note                text,
  occurred_at         timestamptz not null,
  received_at         timestamptz not null,
  check (outcome = 'ignored' and reason = 'unpaid' or (reason is not null) = (outcome = 'rejected'))
)
