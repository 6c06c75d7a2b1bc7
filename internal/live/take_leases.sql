-- takes the partitions that have no lease or an expired one
insert into payfold.lease (partition, owner, expires_at)
select p, $1, clock_timestamp() + $2::interval
from unnest($3::int[]) as p
order by p
on conflict (partition) do update set owner = excluded.owner, expires_at = excluded.expires_at
where lease.expires_at < clock_timestamp()
returning partition
