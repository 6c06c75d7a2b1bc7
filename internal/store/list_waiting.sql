-- the oldest $1 payments that wait for their user
select provider_payment_id, kind, coalesce(subscription_id, ''), event_id, occurred_at
from payment
where user_id is null and kind is not null and buyer is null and reversed_at is null
order by occurred_at, provider_payment_id
limit $1
