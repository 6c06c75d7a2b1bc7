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
)
