-- how many duplicates there are from sequence $1 on, at most $2
select count(*)
from (select from duplicate_event where stream_seq >= $1 order by stream_seq desc limit $2) newest
