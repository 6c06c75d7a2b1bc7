-- what a promotion records, for a command that did not receive the answer of its commit
alter table payfold.schema_state
  add column promoted_from text,        -- its name before a promotion made it live; null: none did
  add column promoted_at   timestamptz,
  add column told_at       timestamptz; -- when the command had reported the promotion; null: it may have been killed before

---- create above / drop below ----

alter table payfold.schema_state drop column promoted_from, drop column promoted_at, drop column told_at;
