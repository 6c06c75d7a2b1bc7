-- the ids of a user's newest payments, each with the number of all. An event of each payment names
-- the user, or is of a subscription of the user. They are found by these events because payment has
-- no index by user.
select p.provider_payment_id, count(*) over ()
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
order by p.stream_seq desc, p.provider_payment_id
limit $2
