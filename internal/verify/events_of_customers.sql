-- counts the events with an effect ($4) that name one of these payments ($1), users ($2) or subscriptions ($3). A
-- reversal ($5) is found by its payment alone.
select count(*)
from (
  select event_id from processed_event where provider_payment_id is not null and provider_payment_id = any($1) and event_type = any($4)
  union
  select event_id from processed_event where user_id is not null and user_id = any($2) and event_type = any($4) and event_type <> all($5)
  union
  select event_id from processed_event where subscription_id is not null and subscription_id = any($3) and event_type = any($4) and event_type <> all($5)
) e
