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
)
