-- the ids of a user's payments. Each was claimed by an event that names the user,
-- or waited for the user of its subscription; payment itself has no index by user.
select p.provider_payment_id
from (
  select provider_payment_id from processed_event where user_id = $1
  union
  select e.provider_payment_id
  from subscription_state s
  join processed_event e using (subscription_id)
  where s.user_id = $1
) own
join payment p using (provider_payment_id)
where p.user_id = $1
