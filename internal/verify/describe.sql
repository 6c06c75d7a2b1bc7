-- the objects of schema $1, each with its definition. search_path must be only that
-- schema, so that the names of its objects are printed without the schema. An index that
-- is not unique is left out, unless its name is one of $2.
with relation as (
  select c.*, case c.relkind when 'v' then 'view' when 'r' then 'table' when 'm' then 'materialized view' when 'S' then 'sequence'
      when 'f' then 'foreign table' when 'p' then 'partitioned table' when 'c' then 'composite type' else 'relation' end
    as kind
  from pg_class c
  where c.relnamespace = $1::text::regnamespace and c.relkind not in ('i', 'I', 't')
)
-- relations; an unlogged table loses its rows in a crash, inheritance adds rows of others
select format('%s %I', kind, relname),
  concat_ws(', ',
    case relpersistence when 'p' then 'permanent' when 'u' then 'unlogged' else 'temporary' end,
    case when relrowsecurity then 'row security' end,
    case when relforcerowsecurity then 'forced row security' end,
    case when relkind = 'v' and reloptions is not null then array_to_string(reloptions, ', ') end,
    (select 'inherits ' || string_agg(inhparent::regclass::text, ', ' order by inhseqno) from pg_inherits where inhrelid = relation.oid),
    (select 'inherited by ' || string_agg(inhrelid::regclass::text, ', ' order by inhrelid::regclass::text) from pg_inherits where inhparent = relation.oid),
    case when relkind in ('v', 'm') then pg_get_viewdef(oid) end)
from relation
union all
select format('column %I.%I', r.relname, a.attname),
  concat_ws(' ', 'place', row_number() over (partition by a.attrelid order by a.attnum), format_type(a.atttypid, a.atttypmod),
    case when a.attcollation <> t.typcollation then 'collate ' || a.attcollation::regcollation end,
    case when a.attnotnull then 'not null' end,
    case a.attidentity when '' then null else 'identity' end,
    case when d.oid is not null then case a.attgenerated when '' then 'default ' else 'generated ' end || pg_get_expr(d.adbin, d.adrelid) end)
from relation r
join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
join pg_type t on t.oid = a.atttypid
left join pg_attrdef d on d.adrelid = r.oid and d.adnum = a.attnum
where r.relkind <> 'S'
union all
-- (since PostgreSQL 18 "not null" is a constraint, too)
select format('constraint %I on %I', c.conname, r.relname),
  concat_ws(', ', pg_get_constraintdef(c.oid), case when not x.indisvalid or not x.indisready or not x.indislive then 'its index is not valid' end)
from relation r
join pg_constraint c on c.conrelid = r.oid
left join pg_index x on x.indexrelid = c.conindid and x.indrelid = r.oid
where c.contype not in ('n', 't')
union all
select format('index %I on %I', i.relname, r.relname),
  concat_ws(', ', replace(pg_get_indexdef(i.oid), format(' ON %I.', $1), ' ON '), case when not x.indisvalid or not x.indisready or not x.indislive then 'not valid' end)
from relation r
join pg_index x on x.indrelid = r.oid
join pg_class i on i.oid = x.indexrelid
where (x.indisunique or i.relname = any ($2::text[])) and not exists (select from pg_constraint c where c.conindid = i.oid and c.conrelid = r.oid)
union all
select format('trigger %I on %I', g.tgname, r.relname),
  concat_ws(', ', pg_get_triggerdef(g.oid), case g.tgenabled when 'O' then null when 'D' then 'disabled' else 'also on replicas' end)
from relation r
join pg_trigger g on g.tgrelid = r.oid
where not g.tgisinternal
union all
select format('rule %I on %I', w.rulename, r.relname), concat_ws(', ', pg_get_ruledef(w.oid), case w.ev_enabled when 'D' then 'disabled' end)
from relation r
join pg_rewrite w on w.ev_class = r.oid
where w.rulename <> '_RETURN'
union all
select format('policy %I on %I', p.polname, r.relname),
  concat_ws(' ', 'for', p.polcmd, 'to', (select string_agg(coalesce(a.rolname, 'public'), ', ') from unnest(p.polroles) role left join pg_roles a on a.oid = role),
    'using', pg_get_expr(p.polqual, p.polrelid), 'with check', pg_get_expr(p.polwithcheck, p.polrelid))
from relation r
join pg_policy p on p.polrelid = r.oid
union all
-- functions, types, operators, …: a query of the portal could call them instead of others
select pg_describe_object(d.classid, d.objid, 0),
  coalesce((
    select concat_ws(E'\n', pg_get_functiondef(p.oid),
      case when p.proowner <> (select mode() within group (order by relowner) from relation)
        then 'owned by ' || quote_ident(pg_get_userbyid(p.proowner)) end,
      case when exists (select from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) where grantee = 0)
        then 'everybody may call it' end)
    from pg_proc p
    where d.classid = 'pg_proc'::regclass and p.oid = d.objid and p.prokind in ('f', 'p')), '')
from pg_depend d
where d.refclassid = 'pg_namespace'::regclass and d.refobjid = $1::text::regnamespace
  and d.classid::regclass::text not in ('pg_class', 'pg_default_acl', 'pg_statistic_ext', 'pg_publication_namespace')
order by 1
