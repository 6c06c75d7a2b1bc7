-- the out-of-order events of the tables of schema $1, and the later events applied before them
select stream_seq, later_seq
from payfold.disorder d
join payfold.schema_state s on s.log_id = d.log_id and s.created_at = d.schema_created_at
where s.schema_name = $1
