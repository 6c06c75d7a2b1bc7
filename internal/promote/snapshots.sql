-- client sessions whose snapshot may be older than transaction $1, which began at $2. If the clock was set back, they
-- began in the future. Columns that the role may not see are null. A batch that waits for the promotion's lock ($3, in
-- two halves) takes a new snapshot after it. The promotion's own session ($4) reads no more.
select format('pid %s (%s) of %s since %s', a.pid, a.application_name, a.usename, coalesce(a.xact_start::text, 'some time'))
from pg_stat_activity a
where a.datname = current_database()
  and a.pid not in (pg_backend_pid(), $4)
  and a.usename is not null
  and coalesce(a.backend_type, 'client backend') = 'client backend'
  and age(a.backend_xmin) >= age($1::text::xid)
  and coalesce(a.xact_start not between $2 and clock_timestamp(), true)
  and not exists (
    select from pg_locks l
    where l.pid = a.pid and l.locktype = 'advisory' and not l.granted and l.objsubid = 1
      and l.classid::bigint = $3::bigint >> 32 and l.objid::bigint = $3::bigint & 4294967295)
