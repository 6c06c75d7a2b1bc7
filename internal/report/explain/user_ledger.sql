-- a user's ledger lines by kind: number and sum of all lines, and of those before $2; the newest $3 of these with
-- their events; and the credits valid now, later and no more. At most $4 lines are read.
select kind, count(*), sum(delta)::bigint, count(*) filter (where stream_seq < $2), coalesce(sum(delta) filter (where stream_seq < $2), 0)::bigint,
       coalesce((array_agg(stream_seq order by stream_seq desc) filter (where stream_seq < $2))[:$3], '{}'),
       coalesce((array_agg(event_id order by stream_seq desc) filter (where stream_seq < $2))[:$3], '{}'),
       coalesce(sum(delta) filter (where available_at <= now() and (expires_at is null or expires_at > now())), 0)::bigint,
       coalesce(sum(delta) filter (where available_at > now()), 0)::bigint,
       coalesce(sum(delta) filter (where available_at <= now() and expires_at <= now()), 0)::bigint
from (select * from credit_ledger where user_id = $1 limit $4) line
group by kind
