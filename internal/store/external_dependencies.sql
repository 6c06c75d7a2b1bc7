-- objects of others that depend on schema $1 or are in it: 'outside' it,
-- 'attached' to its tables, or 'inside' it. A table or view inside counts only if schema $2 has
-- none of that name. The tables' indexes and constraints never do.
with own as (
  select c.oid, c.relname, c.relkind, c.reltype
  from pg_class c
  where c.relnamespace = $1::text::regnamespace and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')
), row_type as (
  select t.oid from pg_type t join own on t.typrelid = own.oid
  union all
  select t.typarray from pg_type t join own on t.typrelid = own.oid
), dependent as (
  select d.classid, d.objid
  from pg_depend d
  where d.deptype in ('n', 'a')
    and (d.refclassid = 'pg_class'::regclass and d.refobjid in (select oid from own)
      or d.refclassid = 'pg_type'::regclass and d.refobjid in (select oid from row_type)
      or d.refclassid = 'pg_namespace'::regclass and d.refobjid = $1::text::regnamespace)
), found as (
  -- a rule is named by its view or table
  select 'pg_class'::regclass as classid, w.ev_class as objid, case when w.ev_class in (select oid from own) then 'attached' else 'outside' end as place
  from dependent d
  join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
  where w.ev_class not in (select oid from own) or w.rulename <> '_RETURN'
  union
  select d.classid, d.objid, 'outside'
  from dependent d
  join pg_constraint c on d.classid = 'pg_constraint'::regclass and c.oid = d.objid
  where c.conrelid not in (select oid from own)
  union
  -- a table with a column of a row's type
  select d.classid, d.objid, 'outside'
  from dependent d
  join pg_class c on d.classid = 'pg_class'::regclass and c.oid = d.objid
  where c.relnamespace <> $1::text::regnamespace and c.relkind <> 't'
  union
  select d.classid, d.objid, case when p.pronamespace = $1::text::regnamespace then 'inside' else 'outside' end
  from dependent d
  join pg_proc p on d.classid = 'pg_proc'::regclass and p.oid = d.objid
  union
  select d.classid, d.objid, case when t.typnamespace = $1::text::regnamespace then 'inside' else 'outside' end
  from dependent d
  join pg_type t on d.classid = 'pg_type'::regclass and t.oid = d.objid
  where t.oid not in (select oid from row_type)
  union
  select d.classid, d.objid, 'attached'
  from dependent d
  where d.classid::regclass::text in ('pg_trigger', 'pg_policy', 'pg_publication_rel', 'pg_publication_namespace')
  union
  select 'pg_class'::regclass, own.oid, 'inside'
  from own
  where not exists (select from pg_class m where m.relnamespace = $2::text::regnamespace and m.relname = own.relname)
)
select distinct pg_describe_object(classid, objid, 0)
from found
where place = any ($3::text[])
order by 1
