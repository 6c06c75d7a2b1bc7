-- the sequences of a user's events before $2, the newest first: events that name the user, and events of
-- the user's newest subscriptions, which may have arrived before the user was known
with own as (
  (select stream_seq from processed_event where user_id = $1 and stream_seq < $2 order by stream_seq desc limit $3)
  union
  select e.stream_seq
  from unnest($4::text[]) as s(id)
  cross join lateral (select stream_seq from processed_event where subscription_id = s.id and stream_seq < $2 order by stream_seq desc limit $3) e
)
select stream_seq from own order by stream_seq desc limit $3
