-- when settle last replaced rows of these tables without moving a checkpoint. A projector
-- that keeps rows in memory reads them again after that.
alter table payfold.schema_state add column settled_at timestamptz;

---- create above / drop below ----

alter table payfold.schema_state drop column settled_at;
