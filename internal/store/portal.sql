-- The objects of a schema that are not derived tables. A schema has no types, sequences or
-- functions, and no now() in a row, so a fold of the log can make the same schema again.

create table checkpoint (
  partition       integer primary key,
  position        bigint not null,
  position_digest bytea,
  log_id          text not null
);

create view credit_balance as
select user_id, sum(delta)::bigint as balance
from credit_ledger
where kind = 'one_time' or (available_at <= now() and (expires_at is null or expires_at > now()))
group by user_id;
