-- the payments that wait for the event which brings their user, by index payment_unclaimed
select count(*), min(occurred_at), coalesce(greatest(extract(epoch from now() - min(occurred_at)), 0), 0)::float8
from payment
where user_id is null and kind is not null and buyer is null and reversed_at is null
