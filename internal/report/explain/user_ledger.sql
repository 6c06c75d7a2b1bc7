-- a user's ledger lines by kind: the number of all lines; number and sum of those before $2, the newest $3 of these
-- with their events, and the credits of these that are valid at $5, later and no more. At most $4 lines are read.
select kind, count(*), count(*) filter (where shown), coalesce(sum(delta) filter (where shown), 0)::bigint,
       coalesce((array_agg(stream_seq order by stream_seq desc) filter (where shown))[:$3], '{}'),
       coalesce((array_agg(event_id order by stream_seq desc) filter (where shown))[:$3], '{}'),
       coalesce(sum(delta) filter (where shown and available_at <= $5 and (expires_at is null or expires_at > $5)), 0)::bigint,
       coalesce(sum(delta) filter (where shown and available_at > $5), 0)::bigint,
       coalesce(sum(delta) filter (where shown and available_at <= $5 and expires_at <= $5), 0)::bigint
from (select *, stream_seq < $2 as shown from credit_ledger where user_id = $1 limit $4) line
group by kind
