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
)
