-- read_only.sql: the rights of the session's role to change payfold's tables, also as another role
-- (set role). $1 is the schema of the tables; those of rebuilds have a table processed_event.
with own as (
  select oid, rolname, rolsuper, rolcreaterole from pg_roles where pg_has_role(session_user, oid, 'member')
), ours as (
  select n.oid, nspname, nspowner from pg_namespace n
  where nspname in ('payfold', 'wallet', $1) or exists (select from pg_class where relnamespace = n.oid and relname = 'processed_event')
), tables as (
  select c.oid, relowner from pg_class c join ours on ours.oid = relnamespace where relkind in ('r', 'p', 'v', 'f')
)
select session_user, array(
  select 'is a superuser' from own where rolname = session_user and rolsuper
  union all select 'may act as superuser ' || rolname from own where rolsuper
  union all select 'may act as ' || rolname from own where rolname in ('pg_execute_server_program', 'pg_write_server_files')
  union all select 'may make roles' from own where rolcreaterole
  union all select 'owns the database' from pg_database join own on own.oid = datdba where datname = current_database()
  union all select 'may create schemas' from own where has_database_privilege(own.oid, current_database(), 'create')
  union all select 'owns schema ' || nspname from ours join own on own.oid = nspowner
  union all select 'may create tables in schema ' || nspname from ours, own where has_schema_privilege(own.oid, ours.oid, 'create')
  union all select 'owns table ' || tables.oid::regclass from tables join own on own.oid = relowner
  union all select 'may call function ' || p.oid::regproc from pg_proc p join ours on ours.oid = pronamespace, own
    where prosecdef and provolatile = 'v' and has_function_privilege(own.oid, p.oid, 'execute')
  union all select 'may change table ' || tables.oid::regclass from tables, own
    where has_any_column_privilege(own.oid, tables.oid, 'insert, update')
      or has_table_privilege(own.oid, tables.oid, 'delete, truncate, trigger' ||
        case when current_setting('server_version_num')::int >= 170000 then ', maintain' else '' end)) -- may lock the table
