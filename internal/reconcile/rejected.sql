-- the newest event about the money of each pair of names that did not make it a paid payment
select distinct on (n.number) n.number, e.event_id, e.outcome, coalesce(e.reason, '')
from unnest($1::text[], $2::text[]) with ordinality as n (transaction, ordered, number)
join processed_event e on e.provider_payment_id in (n.transaction, n.ordered) and e.action = 'payment'
order by n.number, e.stream_seq desc
