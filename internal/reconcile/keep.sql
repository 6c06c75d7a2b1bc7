-- keeps what a complete comparison has found, unless a later one is kept
insert into payfold.reconciled as kept (provider, compared_at, since, objects, found, more, stranger)
values ($1, $2, $3, $4, $5, $6, $7)
on conflict (provider) do update set
  compared_at = excluded.compared_at, since = excluded.since, objects = excluded.objects, found = excluded.found,
  more = excluded.more, stranger = excluded.stranger,
  failed_at = case when kept.failed_at > excluded.compared_at then kept.failed_at end,
  error = case when kept.failed_at > excluded.compared_at then kept.error end
where kept.compared_at is null or kept.compared_at < excluded.compared_at
