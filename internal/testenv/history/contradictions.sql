-- what no moment of the tables may show, a sentence each
select format('credits of %s: %s, in the ledger: %s', user_id, c.balance, l.total)
from (select user_id, sum(delta)::bigint as total from portal.credit_ledger where kind = 'one_time' and expires_at is null group by 1) l
full join portal.credits c using (user_id)
where l.total is distinct from c.balance
union all
select format('line %s of %s comes from event %s, which has no record', l.line, l.provider_payment_id, l.event_id)
from portal.credit_ledger l
where not exists (select from portal.processed_event e where e.event_id = l.event_id)
union all
select format('grant %s of %s is of %s, its payment of %s', g.part, g.provider_payment_id, g.user_id, p.user_id)
from portal.credit_grant g
left join portal.payment p using (provider_payment_id)
where p.user_id is distinct from g.user_id
union all
select format('the grants of %s have %s left, its ledger %s', provider_payment_id, g.remains, l.remains)
from (select provider_payment_id, sum(granted - reversed)::bigint as remains from portal.credit_grant group by 1) g
full join (select provider_payment_id, sum(delta)::bigint as remains from portal.credit_ledger group by 1) l using (provider_payment_id)
where coalesce(g.remains, 0) <> coalesce(l.remains, 0)
union all
select format('the licence of %s is %s, entitlement says otherwise', l.user_id, l.status)
from portal.pro_license l
where (l.status = 'active') <> exists (
  select from portal.entitlement e where e.user_id = l.user_id and e.kind = 'pro' and e.status = 'active')
union all
select format('subscription %s of %s is %s, its state %s', s.subscription_id, s.user_id, s.status, one.status)
from portal.subscription s
left join portal.subscription_state one using (subscription_id)
where s.subscription_id is not null and (s.status, s.current_period_end) is distinct from (one.status, one.current_period_end)
union all
select format('event %s at %s is later than every position', event_id, stream_seq)
from portal.processed_event
where stream_seq > (select max(position) from portal.checkpoint)
union all
select format('spend %s is %s, its parts have %s', key, state, coalesce(taken, 0))
from wallet.spend s
left join (select key, sum(amount)::bigint as taken from wallet.spend_part group by 1) p using (key)
where coalesce(taken, 0) <> case state when 'spent' then coalesce(confirmed, amount) when 'held' then amount else 0 end
