-- the ids of a user's events: events that name the user, and events of the user's subscriptions
-- and payments, which may have arrived before the user was known
with own as (
  select event_id, provider_payment_id from processed_event where user_id = $1
  union
  select e.event_id, e.provider_payment_id
  from subscription_state s
  join processed_event e using (subscription_id)
  where s.user_id = $1
)
select event_id from own
union
select e.event_id
from own
join payment p using (provider_payment_id)
join processed_event e using (provider_payment_id)
where p.user_id = $1
