-- the subscriptions of provider $1 that have not ended, as events from $2 until before $3 say
select subscription_id, subscription_id, ''
from subscription_state
where provider = $1 and occurred_at >= $2 and occurred_at < $3 and status not in ('canceled', 'expired', 'incomplete')
