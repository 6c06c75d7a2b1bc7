-- the keys and indexes of schema $1's tables: how to drop each, and how to make it again
select format('alter table %s drop constraint %I', c.conrelid::regclass, c.conname),
       format('alter table %s add constraint %I %s', c.conrelid::regclass, c.conname, pg_get_constraintdef(c.oid))
from pg_constraint c
where c.connamespace = $1::regnamespace and c.contype in ('p', 'u')
union all
select format('drop index %s', i.indexrelid::regclass), pg_get_indexdef(i.indexrelid)
from pg_index i
join pg_class t on t.oid = i.indexrelid
where t.relnamespace = $1::regnamespace and not exists (select from pg_constraint c where c.conindid = i.indexrelid)
