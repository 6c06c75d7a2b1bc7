-- the subscriptions of one status after one
select subscription_id, coalesce(provider, '') as provider, coalesce(user_id, '') as user_id,
  coalesce(kind, '') as kind, coalesce(product_key, '') as product_key, status, current_period_end,
  coalesce(event_id, '') as event_id, occurred_at
from subscription_facts
where status = @status and subscription_id > @id
order by subscription_id
limit @window
