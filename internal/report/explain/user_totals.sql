-- what user $1 paid and got back in each currency, by the payments that the events at the sequences $2 name; a gift has no
-- amount
select coalesce(p.currency, '') as currency, coalesce(sum(p.amount), 0)::text as paid, coalesce(sum(p.refunded_amount), 0)::text as refunded
from (
  select distinct e.provider_payment_id
  from unnest($2::bigint[]) as own(stream_seq)
  join processed_event e using (stream_seq)
) named
join payment_facts p using (provider_payment_id)
where p.user_id = $1 and p.paid and (p.amount is not null or p.refunded_amount is not null)
group by 1
order by 1
