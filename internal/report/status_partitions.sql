-- the checkpoints, and who holds a lease that has not expired
select c.partition, c.position, coalesce(l.owner, '')
from checkpoint c
left join payfold.lease l on l.partition = c.partition and l.expires_at > now()
order by c.partition
