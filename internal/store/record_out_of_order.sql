-- records the out-of-order events of this batch: a later event of the log that shares a
-- name with them was applied before, by a projector that was ahead in another partition
insert into payfold.out_of_order_event (log_id, stream_seq, later_seq, shared, schema_created_at)
select state.log_id, n.seq, later.stream_seq, later.shared, state.created_at
from payfold.schema_state state
cross join unnest($2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
  as n(seq, event_id, user_id, subscription_id, provider_payment_id)
cross join lateral (
  (select p.stream_seq, 'event_id' as shared from processed_event p
   where p.event_id = n.event_id and p.stream_seq > n.seq)
  union all
  (select p.stream_seq, 'user' from processed_event p
   where p.user_id = n.user_id and p.stream_seq > n.seq and p.action <> 'none' order by p.stream_seq limit 1)
  union all
  (select p.stream_seq, 'subscription' from processed_event p
   where p.subscription_id = n.subscription_id and p.stream_seq > n.seq and p.action <> 'none' order by p.stream_seq limit 1)
  union all
  (select p.stream_seq, 'payment' from processed_event p
   where p.provider_payment_id = n.provider_payment_id and p.stream_seq > n.seq and p.action <> 'none' order by p.stream_seq limit 1)
  order by stream_seq
  limit 1
) later
where state.schema_name = $1
  and n.seq < (select max(stream_seq) from processed_event)
on conflict (log_id, stream_seq) do update -- a record of tables that are gone
set later_seq = excluded.later_seq, shared = excluded.shared, noticed_at = excluded.noticed_at, schema_created_at = excluded.schema_created_at
where not exists (
  select from payfold.schema_state s
  where s.log_id = payfold.out_of_order_event.log_id and s.created_at = payfold.out_of_order_event.schema_created_at)
