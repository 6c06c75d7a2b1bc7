-- number and sum of the payments that count, by day, currency and kind: all but their user is known
select date_trunc('day', occurred_at, 'UTC'), coalesce(currency, 'unknown'), kind, count(*), coalesce(sum(amount), 0)::text
from payment_facts
where known
group by 1, 2, 3
