create table credit_ledger (
  provider_payment_id text not null,
  line                bigint not null check (line > 0),
  user_id             text not null,
  kind                text not null check (kind in ('subscription', 'one_time')),
  entry               text not null check (entry in ('grant', 'refund', 'chargeback', 'correction')),
  delta               bigint not null check (delta <> 0 and (entry = 'correction' or (delta > 0) = (entry = 'grant'))),
  reverses_line       bigint,
  available_at        timestamptz not null,
  expires_at          timestamptz,
  event_id            text not null,
  occurred_at         timestamptz not null,
  stream_seq          bigint not null,
  check ((reverses_line is null) = (entry = 'grant'))
)
