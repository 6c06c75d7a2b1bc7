-- subscribers.sql: the publications for all tables, and the slots of this database's logical replication, which may be
-- of their subscribers
select coalesce((select string_agg(pubname, ', ' order by pubname) from pg_publication where puballtables), ''),
  coalesce((select string_agg(slot_name, ', ' order by slot_name) from pg_replication_slots
    where slot_type = 'logical' and database = current_database()), '')
