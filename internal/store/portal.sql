-- The objects of a schema that are not derived tables. A schema has no types, sequences or
-- functions, and no now() in a row, so a fold of the log can make the same schema again.

create table checkpoint (
  partition       integer primary key,
  position        bigint not null,
  position_digest bytea,
  log_id          text not null
);

create view payment as
select provider_payment_id, provider, transaction_id, order_id, subscription_id, user_id, kind, product_key, amount, currency,
  credits, refunded_amount, period_start, period_end, reversed_at, github_username, event_id, occurred_at, stream_seq
from payment_facts
where paid;

create view subscription_state as
select subscription_id, provider, user_id, product_key, status, current_period_start, current_period_end, canceled_at,
  provider_payment_id, started_at, kind, occurred_at, event_id, stream_seq
from subscription_facts
where status is not null;

create view credit_balance as
select user_id, sum(delta)::bigint as balance
from credit_ledger
where (kind = 'one_time' or available_at <= now()) and (expires_at is null or expires_at > now())
group by user_id;
