-- what the last comparison with each provider found, for the console
create table payfold.reconciled (
  provider    text primary key,
  compared_at timestamptz,       -- when the last complete comparison began; null: none was complete
  since       timestamptz,       -- payments and refunds were compared from then on
  objects     bigint,            -- of the provider that were compared
  found       jsonb,             -- the differences that count: [{difference, currency, count, amount}]
  more        boolean,           -- there are more differences than were looked at
  stranger    boolean,           -- the provider knew none of the payments: nothing else was compared
  failed_at   timestamptz,       -- when a later comparison began that could not be completed; null: none
  error       text,              -- why
  check (num_nulls(compared_at, since, objects, found, more, stranger) in (0, 6)),
  check ((failed_at is null) = (error is null)),
  check (compared_at is not null or failed_at is not null)
);

---- create above / drop below ----

drop table payfold.reconciled;
