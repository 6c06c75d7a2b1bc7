-- the tables to which an out-of-order event was applied; those of a rebuild have none:
-- it folds in log order
alter table payfold.disorder add column schema_created_at timestamptz; -- schema_state.created_at of them; null: not known
update payfold.disorder d set schema_created_at = s.created_at
from payfold.schema_state s where s.schema_name = 'portal' and s.log_id = d.log_id and d.noticed_at >= s.created_at;

---- create above / drop below ----

alter table payfold.disorder drop column schema_created_at;
