create table reversal (
  event_id            text not null,
  reversal_id         text not null,
  provider_payment_id text not null,
  order_id            text,
  cause               text not null check (cause in ('refund', 'chargeback')),
  status              text not null check (status in ('pending', 'succeeded', 'failed')),
  amount              bigint check (amount >= 0),
  currency            text,
  total               bigint check (total >= 0),
  paid                bigint check (paid >= 0),
  credits             bigint check (credits >= 0),
  occurred_at         timestamptz not null,
  stream_seq          bigint not null
)
