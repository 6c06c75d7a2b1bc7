-- what sessions named $1 wait for: the sessions of other programs that hold a lock, and, for longer than $2, a synchronous
-- standby. Columns that the role may not see are null.
select distinct format('pid %s (%s) of %s, which holds a lock since %s',
	a.pid, a.application_name, a.usename, coalesce(a.xact_start::text, 'some time'))
from pg_stat_activity waiting
cross join unnest(pg_blocking_pids(waiting.pid)) blocking (pid)
join pg_stat_activity a on a.pid = blocking.pid
where waiting.application_name = $1 and waiting.wait_event_type = 'Lock' and a.application_name <> $1
union
select format('a standby that confirms a commit: start the one of synchronous_standby_names (%s), or change that setting',
	current_setting('synchronous_standby_names'))
from pg_stat_activity
where application_name = $1 and wait_event = 'SyncRep' and query_start < clock_timestamp() - $2::interval
order by 1
