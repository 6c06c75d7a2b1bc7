-- the statements, in order, that give schema $2 and its relations the owner and the
-- grants of schema $1, and no others, also grants to columns and with grant option.
-- The owner grants all of them. A relation that schema $1 does not have gets the
-- default privileges of schema $1, and those of its owner in every schema. Row level security stays on;
-- a promotion is refused where there are policies.
with schemas as (
  select live.oid as live, next.oid as next, live.nspacl as live_acl, next.nspacl as next_acl, live.nspowner as live_owner, next.nspowner as next_owner
  from pg_namespace live, pg_namespace next
  where live.nspname = $1 and next.nspname = $2
), relations as (
  select next.oid as next, live.oid as live, next.relname, next.relacl as next_acl, live.relacl as live_acl, next.relowner as next_owner,
    coalesce(live.relowner, s.live_owner) as live_owner
  from schemas s
  join pg_class next on next.relnamespace = s.next and next.relkind in ('r', 'v')
  left join pg_class live on live.relnamespace = s.live and live.relname = next.relname
), rights as (
  -- the candidate's own grants are revoked
  select 2 as step, 'all' as privilege, format('schema %I', $2) as object, a.grantee, false as grantable
  from schemas s cross join aclexplode(s.next_acl) a where a.grantee <> s.next_owner
  union
  select 2, 'all', format('%I.%I', $2, r.relname), a.grantee, false
  from relations r cross join aclexplode(r.next_acl) a where a.grantee <> r.next_owner
  union
  select 2, 'all', format('%I.%I', $2, r.relname), a.grantee, false
  from relations r join pg_attribute c on c.attrelid = r.next cross join aclexplode(c.attacl) a where a.grantee <> r.next_owner
  union
  select 3, a.privilege_type, format('schema %I', $2), a.grantee, a.is_grantable
  from schemas s cross join aclexplode(s.live_acl) a where a.grantee <> s.live_owner
  union
  select 3, a.privilege_type, format('%I.%I', $2, r.relname), a.grantee, a.is_grantable
  from relations r cross join aclexplode(r.live_acl) a where a.grantee <> r.live_owner
  union
  select 3, format('%s (%I)', a.privilege_type, c.attname), format('%I.%I', $2, r.relname), a.grantee, a.is_grantable
  from relations r
  join pg_attribute c on c.attrelid = r.live and c.attnum > 0 and not c.attisdropped
  join pg_attribute own on own.attrelid = r.next and own.attname = c.attname
  cross join aclexplode(c.attacl) a
  where a.grantee <> r.live_owner
  union
  select 3, a.privilege_type, format('%I.%I', $2, r.relname), a.grantee, a.is_grantable
  from schemas s
  join relations r on r.live is null
  join pg_default_acl d on d.defaclnamespace in (s.live, 0) and d.defaclrole = s.live_owner and d.defaclobjtype = 'r'
  cross join aclexplode(d.defaclacl) a
  where a.grantee <> s.live_owner
), statements as (
  select 1 as step, format('alter schema %I owner to %I', $2, pg_get_userbyid(live_owner)) as statement
  from schemas where next_owner <> live_owner
  union all
  select 1, format('alter table %I.%I owner to %I', $2, relname, pg_get_userbyid(live_owner))
  from relations where next_owner <> live_owner
  union all
  select 1, format('alter table %I.%I enable row level security', $2, r.relname)
  from relations r join pg_class live on live.oid = r.live where live.relrowsecurity
  union all
  select step, format(case step when 2 then 'revoke %s on %s from %s cascade' else 'grant %s on %s to %s%s' end, privilege, object,
    case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end, case when grantable then ' with grant option' end)
  from rights
  union all
  select 4, format('alter default privileges for role %I in schema %I grant %s on tables to %s%s', pg_get_userbyid(d.defaclrole), $2, a.privilege_type,
    case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end, case when a.is_grantable then ' with grant option' end)
  from schemas s
  join pg_default_acl d on d.defaclnamespace = s.live and d.defaclrole = s.live_owner and d.defaclobjtype = 'r'
  cross join aclexplode(d.defaclacl) a
)
select statement from statements order by step, statement
