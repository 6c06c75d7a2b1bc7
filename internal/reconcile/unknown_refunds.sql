-- the refunds with these ids that took something back; number counts the ids from 1
select distinct on (n.number) n.number, p.provider_payment_id, coalesce(p.user_id, ''), r.amount,
  coalesce(r.currency, p.currency, ''), r.event_id, r.occurred_at
from unnest($1::text[]) with ordinality as n (id, number)
join reversal r on r.reversal_id = n.id and r.status = 'succeeded' and r.amount is not null
join payment p on p.provider_payment_id = r.provider_payment_id
order by n.number, r.stream_seq desc
