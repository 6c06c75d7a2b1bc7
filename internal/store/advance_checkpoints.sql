-- moves checkpoints from where the batch began, in the same log; rows are locked by partition
with locked as (
  select c.partition
  from checkpoint c
  join unnest($1::int[], $2::bigint[]) as n(partition, expected)
    on c.partition = n.partition and c.position = n.expected
  where c.log_id = $5
  order by c.partition
  for update of c
)
update checkpoint c set position = $3, position_digest = $4
from locked
where c.partition = locked.partition
