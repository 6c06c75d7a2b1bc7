-- counts the events with an effect that name one of these payments ($1), users ($2) or subscriptions ($3). A reversal is
-- found by its payment alone.
select count(*)
from (
  select event_id from processed_event where provider_payment_id is not null and provider_payment_id = any($1) and action <> 'none'
  union
  select event_id from processed_event where user_id is not null and user_id = any($2) and action not in ('none', 'reversal')
  union
  select event_id from processed_event where subscription_id is not null and subscription_id = any($3) and action not in ('none', 'reversal')
) e
