-- the names of the payments of provider $1 that were paid from $2 until before $3
select provider_payment_id, coalesce(transaction_id, ''), coalesce(order_id, '')
from payment
where provider = $1 and occurred_at >= $2 and occurred_at < $3
