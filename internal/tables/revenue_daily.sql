create table revenue_daily (
  day             timestamptz not null,
  currency        text not null,
  kind            text not null check (kind in ('subscription', 'one_time', 'pro', 'unknown')),
  payments        bigint not null,
  gross           bigint not null,
  refunded        bigint not null,
  net             bigint not null check (net = gross - refunded),
  rejected_events bigint not null,
  rejected        bigint not null,
  primary key (day, currency, kind)
)
