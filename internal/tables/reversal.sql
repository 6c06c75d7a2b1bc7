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
)
