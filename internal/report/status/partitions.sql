-- the checkpoints, each with the owner of its lease if that has not expired
select c.partition, c.position, coalesce(l.owner, '')
from checkpoint c
left join payfold.lease l on l.partition = c.partition and l.expires_at > now()
order by c.partition
