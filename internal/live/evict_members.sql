-- evicts expired members: those without a heartbeat for the duration of a lease ($3), or
-- for three heartbeats ($4) without a session. Their leases are free at once.
-- After a fail-over, the new server's clock may be behind the old one's. So a member without a
-- session is evicted, too, if its heartbeat is in the future.
-- Ending their sessions releases the rows of transactions that a frozen member left open.
with evicted as (
  delete from payfold.member
  where owner in (
    select m.owner
    from payfold.member m
    where m.owner <> $1
      and (m.last_seen < clock_timestamp() - $3::interval
           or (m.last_seen < clock_timestamp() - 3 * $4::interval or m.last_seen > clock_timestamp() + $3::interval)
              and not exists (select from pg_stat_activity a
                              where a.datname = current_database() and a.application_name = $2::text || m.owner))
    order by m.owner
    for update skip locked
  )
  returning owner
), freed as (
  delete from payfold.lease l using evicted where l.owner = evicted.owner
)
select pg_terminate_backend(a.pid)
from evicted
join pg_stat_activity a on a.application_name = $2::text || evicted.owner
where a.datname = current_database() and a.usename = current_user
