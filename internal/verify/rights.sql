-- the wrong rights in schema $1. Only the owner of the tables may write them. The role
-- public may not read. A role that may read future tables of the schema (default privileges, see
-- deploy/postgres/roles.sql) must be able to read all tables and to write none. The
-- operator may grant other roles the right to read.
with relation as (
  select c.oid, c.relowner, c.relacl, case c.relkind when 'v' then 'view ' else 'table ' end || quote_ident(c.relname) as name
  from pg_class c
  where c.relnamespace = $1::text::regnamespace and c.relkind in ('r', 'v')
), owner as (
  select mode() within group (order by relowner) as oid from relation
), granted as (
  select r.name, a.grantee, a.privilege_type from relation r cross join aclexplode(r.relacl) a where a.grantee <> r.relowner
  union all
  select format('column %I of %s', c.attname, r.name), a.grantee, a.privilege_type
  from relation r join pg_attribute c on c.attrelid = r.oid cross join aclexplode(c.attacl) a where a.grantee <> r.relowner
  union all
  select 'schema', a.grantee, a.privilege_type
  from pg_namespace n cross join aclexplode(n.nspacl) a, owner
  where n.oid = $1::text::regnamespace and a.grantee not in (n.nspowner, owner.oid)
), to_come as (
  select a.grantee, a.privilege_type, d.defaclnamespace
  from pg_default_acl d cross join aclexplode(d.defaclacl) a, owner
  where d.defaclnamespace in ($1::text::regnamespace, 0) and d.defaclrole = owner.oid and d.defaclobjtype = 'r' and a.grantee <> owner.oid
), reader as (
  select distinct grantee as oid from to_come where privilege_type = 'SELECT' and grantee <> 0 and defaclnamespace <> 0
)
select format('owner of %s', r.name), 'changed', quote_ident(pg_get_userbyid(r.relowner)), quote_ident(pg_get_userbyid(owner.oid))
from relation r, owner
where r.relowner <> owner.oid
union all
select format('grant of %s on %s to %s', lower(privilege_type collate "C"), name, case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end),
  'extra', null, null
from (select * from granted union select 'tables to come', grantee, privilege_type from to_come) g
where privilege_type not in ('SELECT', 'USAGE') or privilege_type = 'SELECT' and grantee = 0
union all
select format('grant of select on %s to %I', r.name, pg_get_userbyid(reader.oid)), 'missing', null, null
from relation r, reader
where not has_table_privilege(reader.oid, r.oid, 'select')
union all
select format('grant of usage on schema to %I', pg_get_userbyid(oid)), 'missing', null, null
from reader
where not has_schema_privilege(oid, $1::text::regnamespace::oid, 'usage')
union all
-- may write as a superuser, or through another role
select format('role %I, which reads', pg_get_userbyid(reader.oid)), 'changed', 'may write ' || string_agg(r.name, ', ' order by r.name), 'may write nothing'
from reader, relation r
where has_table_privilege(reader.oid, r.oid, 'insert, update, delete, truncate')
  and not exists (select from granted g where g.name = r.name and g.grantee in (0, reader.oid) and g.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE'))
group by reader.oid
order by 1
