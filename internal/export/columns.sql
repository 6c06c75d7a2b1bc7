-- The columns of a table or view ($1) in their order; those of its key ($2) are never null.
select attname::text, format_type(atttypid, atttypmod), not (attnotnull or attname::text = any($2::text[])),
  coalesce(col_description(attrelid, attnum), '')
from pg_attribute
where attrelid = to_regclass($1) and attnum > 0 and not attisdropped
order by attnum
