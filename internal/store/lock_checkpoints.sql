-- locks the checkpoints of that log that are at the expected positions, and counts them
select count(*)
from (
  select from checkpoint c
  join unnest($1::int[], $2::bigint[]) as n(partition, expected)
    on c.partition = n.partition and c.position = n.expected
  where c.log_id = $3
  order by c.partition
  for update of c
) locked
