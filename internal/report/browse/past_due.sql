-- the subscriptions whose newest payment has failed, with what their last payment was, by currency
select coalesce(p.currency, ''), count(*), coalesce(sum(p.amount), 0)::text, count(p.amount)
from subscription_facts s
left join payment_facts p on p.provider_payment_id = s.provider_payment_id
where s.status = 'past_due'
group by 1
order by 2 desc
