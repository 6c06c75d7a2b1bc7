-- the payments that wait for the event which brings their user, by index payment_facts_unclaimed
select count(*), min(occurred_at), coalesce(greatest(extract(epoch from now() - min(occurred_at)), 0), 0)::float8
from payment_facts
where user_id is null and known and reversed_at is null
