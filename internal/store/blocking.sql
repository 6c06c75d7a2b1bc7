-- the sessions of other programs that hold a lock for which a session named $1 waits. Columns that the role may not see
-- are null.
select distinct format('pid %s (%s) of %s since %s', a.pid, a.application_name, a.usename, coalesce(a.xact_start::text, 'some time'))
from pg_stat_activity waiting
cross join unnest(pg_blocking_pids(waiting.pid)) blocking (pid)
join pg_stat_activity a on a.pid = blocking.pid
where waiting.application_name = $1 and waiting.wait_event_type = 'Lock' and a.application_name <> $1
order by 1
