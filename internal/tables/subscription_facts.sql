create table subscription_facts (
  subscription_id      text not null,
  provider             text,
  user_id              text,
  product_key          text,
  status               text,
  current_period_start timestamptz,
  current_period_end   timestamptz,
  canceled_at          timestamptz,
  provider_payment_id  text,
  started_at           timestamptz,
  kind                 text,
  occurred_at          timestamptz,
  event_id             text,
  stream_seq           bigint not null,
  counts_until         timestamptz,
  facts                bytea
)
