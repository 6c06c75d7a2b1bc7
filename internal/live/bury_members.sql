-- buries members that are gone: silent for a lease's time ($3), or for three
-- heartbeats ($4) and without any session here. Their leases are free at once, and
-- a transaction that a frozen one left open holds no row any longer.
with gone as (
  delete from payfold.member
  where owner in (
    select m.owner
    from payfold.member m
    where m.owner <> $1
      and (m.last_seen < clock_timestamp() - $3::interval
           or m.last_seen < clock_timestamp() - 3 * $4::interval
              and not exists (select from pg_stat_activity a
                              where a.datname = current_database() and a.application_name = $2::text || m.owner))
    order by m.owner
    for update skip locked
  )
  returning owner
), freed as (
  delete from payfold.lease l using gone where l.owner = gone.owner
)
select pg_terminate_backend(a.pid)
from gone
join pg_stat_activity a on a.application_name = $2::text || gone.owner
where a.datname = current_database() and a.usename = current_user
