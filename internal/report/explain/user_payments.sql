-- those of a user's payments whose newest event of the user is among those at the sequences $2, which are all before
-- $3: an event of each payment names the user, or is of a subscription of the user
where provider_payment_id = any(array(
  select p.provider_payment_id
  from unnest($2::bigint[]) as own(stream_seq)
  join processed_event e using (stream_seq)
  join payment_facts p using (provider_payment_id)
  where p.user_id = $1 and not exists (
    select from processed_event newer
    where newer.provider_payment_id = p.provider_payment_id and newer.stream_seq >= $3
      and (newer.user_id = $1 or newer.subscription_id = any($4::text[]))
  )
))
order by stream_seq, provider_payment_id desc
