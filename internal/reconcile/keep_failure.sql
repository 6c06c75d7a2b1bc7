-- keeps why a comparison could not be completed, unless a later one is kept
insert into payfold.reconciled as kept (provider, failed_at, error)
values ($1, $2, $3)
on conflict (provider) do update set failed_at = excluded.failed_at, error = excluded.error
where greatest(kept.compared_at, kept.failed_at) < excluded.failed_at
