-- the positions of schema $1, and who works on them; $2 is the duration of a lease
select s.log_id,
       (select array_agg(c.partition order by c.partition) from checkpoint c),
       (select array_agg(c.position order by c.partition) from checkpoint c),
       (select count(*) from checkpoint c
        where not exists (select from payfold.lease l where l.partition = c.partition and l.expires_at > clock_timestamp())),
       (select count(*) from payfold.member m where m.last_seen > clock_timestamp() - $2::interval),
       (select count(*) from payfold.quarantined_event q where q.log_id = s.log_id)
from payfold.schema_state s
where s.schema_name = $1
