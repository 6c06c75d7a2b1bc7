-- the first sequence from which on all events were received at $1 or later; halves the sequences
-- between low and high until they meet
with recursive step (low, high) as (
  select coalesce(min(stream_seq), 0), coalesce(max(stream_seq) + 1, 0) from processed_event
  union all
  select case when e.received_at < $1 then e.stream_seq + 1 else s.low end,
         case when e.received_at < $1 then s.high else m.middle end
  from step s
  cross join lateral (select s.low + (s.high - s.low) / 2 as middle) m
  cross join lateral (select stream_seq, received_at from processed_event where stream_seq >= m.middle order by stream_seq limit 1) e
  where s.low < s.high
)
select low from step where low = high
