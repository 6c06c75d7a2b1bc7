-- the keys and indexes of schema $1's tables: how to drop each, how to make it
-- again, and whether it can wait for the end (see late_indexes.sql). Those of
-- checkpoint stay: who lists the schemas reads it and must not wait.
select format('alter table %s drop constraint %I', c.conrelid::regclass, c.conname),
       format('alter table %s add constraint %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid)),
       false
from pg_constraint c
where c.connamespace = $1::regnamespace and c.contype in ('p', 'u') and c.conrelid <> format('%s.checkpoint', $1::regnamespace)::regclass
union all
select format('drop index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid), t.relname = 'processed_event'
from pg_index i
join pg_class x on x.oid = i.indexrelid
join pg_class t on t.oid = i.indrelid
where x.relnamespace = $1::regnamespace and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
