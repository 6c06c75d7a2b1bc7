-- what a promotion records, for a command that did not receive the answer of its commit
alter table payfold.schema_state
  add column promoted_from text,        -- the name it had before it was made live; null: it never was
  add column promoted_at   timestamptz,
  add column told_at       timestamptz; -- when the command that promoted it had said so; null: it may have been killed before

---- create above / drop below ----

alter table payfold.schema_state drop column promoted_from, drop column promoted_at, drop column told_at;
