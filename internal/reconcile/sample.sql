-- the names of payments of provider $1 that were paid before $2: of the $3 newest and the $3 oldest
(select provider_payment_id, coalesce(transaction_id, ''), coalesce(order_id, '')
from payment
where provider = $1 and occurred_at < $2
order by occurred_at desc, provider_payment_id
limit $3)
union
(select provider_payment_id, coalesce(transaction_id, ''), coalesce(order_id, '')
from payment
where provider = $1 and occurred_at < $2
order by occurred_at, provider_payment_id
limit $3)
