-- roles.sql: the least-privilege roles of payfold in one database.
--
-- Run it as an administrator, connected to payfold's database, as often as you
-- like:
--
--   psql -X -v ON_ERROR_STOP=1 -d payfold -f roles.sql
--
-- The roles have no password until you give them one, which psql hashes before
-- it sends it:
--
--   \password payfold_projector
--   \password payfold_portal
--   \password payfold_console
--
-- payfold_projector  DATABASE_URL of the projector. Owns portal, payfold and wallet,
--                    and makes, renames and drops the schemas of a rebuild.
-- payfold_portal     for programs that show the tables and spend credits. Reads
--                    only portal and wallet, and changes only what the functions
--                    of wallet change.
-- payfold_console    DATABASE_URL of projector console. Reads portal, payfold,
--                    wallet and the schemas of rebuilds.

begin;

do $$
begin
  if not exists (select from pg_roles where rolname = 'payfold_projector') then
    create role payfold_projector login;
  end if;
  if not exists (select from pg_roles where rolname = 'payfold_portal') then
    create role payfold_portal login;
  end if;
  if not exists (select from pg_roles where rolname = 'payfold_console') then
    create role payfold_console login;
  end if;
  -- On managed servers an administrator is no superuser, and may act for the owner
  -- only as its member.
  if not (select rolsuper from pg_roles where rolname = current_user)
     and not pg_has_role(current_user, 'payfold_projector', 'usage') then
    execute format('grant payfold_projector to %I', current_user);
  end if;
end
$$;

-- Only these three roles may connect, and only the projector makes schemas.
do $$
begin
  execute format('revoke all on database %I from public', current_database());
  execute format('grant connect, create, temporary on database %I to payfold_projector', current_database());
  execute format('grant connect on database %I to payfold_portal, payfold_console', current_database());
  execute format('alter role payfold_projector in database %I set search_path = portal', current_database());
  execute format('alter role payfold_portal in database %I set search_path = portal', current_database());
  -- The portal spends credits.
  execute format('alter role payfold_portal in database %I reset default_transaction_read_only', current_database());
  -- This error comes earlier than those of the grants below.
  execute format('alter role payfold_console in database %I set default_transaction_read_only = on', current_database());
end
$$;
revoke create on schema public from public;

create schema if not exists portal authorization payfold_projector;
create schema if not exists payfold authorization payfold_projector;
create schema if not exists wallet authorization payfold_projector;
alter schema portal owner to payfold_projector;
alter schema payfold owner to payfold_projector;
alter schema wallet owner to payfold_projector;

-- The portal reads present and future tables. `projector promote` gives a promoted
-- schema the grants of the one that it replaces.
revoke all on schema portal, payfold, wallet from public;
grant usage on schema portal to payfold_portal;
grant select on all tables in schema portal to payfold_portal;
alter default privileges for role payfold_projector in schema portal grant select on tables to payfold_portal;

-- The functions that change something check what they change. Those that only they use have no more rights than their
-- caller.
grant usage on schema wallet to payfold_portal;
grant select on all tables in schema wallet to payfold_portal;
grant execute on all functions in schema wallet to payfold_portal;
alter default privileges for role payfold_projector in schema wallet grant select on tables to payfold_portal;
alter default privileges for role payfold_projector in schema wallet grant execute on functions to payfold_portal;

-- The console reads also the schemas of rebuilds, present and future.
do $$
declare
  schema name;
begin
  for schema in select nspname from pg_namespace where nspowner = 'payfold_projector'::regrole loop
    execute format('grant usage on schema %I to payfold_console', schema);
    execute format('grant select on all tables in schema %I to payfold_console', schema);
  end loop;
end
$$;
alter default privileges for role payfold_projector grant usage on schemas to payfold_console;
alter default privileges for role payfold_projector grant select on tables to payfold_console;

-- Removes rights that somebody has added.
revoke all on schema payfold from payfold_portal;
revoke all on all tables in schema payfold from payfold_portal;

commit;
