-- the oldest $1 payments that wait for their user
select provider_payment_id, coalesce(kind, ''), coalesce(subscription_id, ''), event_id, occurred_at
from payment_facts
where user_id is null and known and reversed_at is null
order by occurred_at, provider_payment_id
limit $1
