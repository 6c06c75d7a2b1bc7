-- the refunds of payments of provider $1 that events from $2 until before $3 say have an amount of their own
select r.reversal_id, r.reversal_id, ''
from reversal r
join payment p on p.provider_payment_id = r.provider_payment_id
join processed_event e on e.event_id = r.event_id
where p.provider = $1 and e.provider = $1 and r.occurred_at >= $2 and r.occurred_at < $3
  and r.status = 'succeeded' and r.amount is not null and r.reversal_id <> r.event_id
