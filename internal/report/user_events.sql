-- the sequences of a user's newest events, each with the number of all: events that name the user,
-- and events of the user's subscriptions and payments, which may have arrived before the user was known
with own as (
  select stream_seq, provider_payment_id from processed_event where user_id = $1
  union
  select e.stream_seq, e.provider_payment_id
  from subscription_state s
  join processed_event e using (subscription_id)
  where s.user_id = $1
), every as (
  select stream_seq from own
  union
  select e.stream_seq
  from own
  join payment p using (provider_payment_id)
  join processed_event e using (provider_payment_id)
  where p.user_id = $1
)
select stream_seq, count(*) over () from every order by stream_seq desc limit $2
