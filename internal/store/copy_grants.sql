-- the statements that give schema $2 and its relations the grants of schema $1
select format('grant %s on schema %I to %s', a.privilege_type, $2::text, case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end)
from pg_namespace n
cross join aclexplode(n.nspacl) a
where n.nspname = $1 and a.grantee <> n.nspowner
union all
select format('grant %s on %I.%I to %s', a.privilege_type, $2::text, c.relname, case a.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end)
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
join pg_class other on other.relname = c.relname
join pg_namespace o on o.oid = other.relnamespace and o.nspname = $2
cross join aclexplode(c.relacl) a
where n.nspname = $1 and c.relkind in ('r', 'v') and a.grantee <> c.relowner
