-- what outside the schema depends on its tables: views, and foreign keys of other tables
select distinct format('view %s.%s', n.nspname, v.relname)
from pg_depend d
join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
join pg_class v on v.oid = r.ev_class
join pg_namespace n on n.oid = v.relnamespace
join pg_class t on t.oid = d.refobjid and d.refclassid = 'pg_class'::regclass
join pg_namespace tn on tn.oid = t.relnamespace
where tn.nspname = $1 and n.nspname <> $1
union
select format('foreign key %s of %s', c.conname, c.conrelid::regclass)
from pg_constraint c
join pg_class t on t.oid = c.confrelid
join pg_namespace tn on tn.oid = t.relnamespace
join pg_class f on f.oid = c.conrelid
join pg_namespace fn on fn.oid = f.relnamespace
where c.contype = 'f' and tn.nspname = $1 and fn.nspname <> $1
order by 1
