-- number and sum of the payments that count, by day of zone $1, currency and kind: all but their user is known
select (occurred_at at time zone $1)::date, coalesce(currency, 'unknown'), kind, count(*), coalesce(sum(amount), 0)::text
from payment_facts
where known
group by 1, 2, 3
