-- number and sum of the payments that count, by day, currency and kind: all but their
-- user is known (projections.Payment.complete; ranks has a digit for who said the credits)
select date_trunc('day', first_at, 'UTC'), coalesce(currency, 'unknown'), kind, count(*), coalesce(sum(amount), 0)::text
from payment
where first_at is not null and ranks / 16 % 16 > 0 and kind is not null and (kind <> 'one_time' or credits is not null)
group by 1, 2, 3
