-- the out-of-order events of the tables of schema $1, and the later events applied before them
select stream_seq, later_seq
from payfold.out_of_order_event o
join payfold.schema_state s on s.log_id = o.log_id and s.created_at = o.schema_created_at
where s.schema_name = $1
