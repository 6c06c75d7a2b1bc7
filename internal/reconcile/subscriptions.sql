-- the subscription of each id; own: an event of the shop's own, whose provider is $2, says something of it
select n.number, s.subscription_id, coalesce(s.user_id, ''), s.status, s.current_period_end, s.event_id, s.occurred_at,
  exists (select from processed_event e where e.subscription_id = s.subscription_id and e.provider = $2) as own
from unnest($1::text[]) with ordinality as n (id, number)
join subscription_state s on s.subscription_id = n.id
