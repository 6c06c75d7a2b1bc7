-- the paid payments after a place, the newest first
select provider_payment_id, provider, coalesce(user_id, '') as user_id, coalesce(kind, '') as kind,
  coalesce(product_key, '') as product_key, amount, refunded_amount, coalesce(currency, '') as currency, credits,
  reversed_at, event_id, occurred_at, stream_seq
from payment_facts
where paid and (stream_seq, provider_payment_id) < (@seq, @id)
order by stream_seq desc, provider_payment_id desc
limit @window
