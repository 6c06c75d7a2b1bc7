-- the grants of user $1 in the order in which they are spent, with what was spent of each and what is held
select provider_payment_id, part, g.kind, g.event_id, g.available_at, g.expires_at, g.granted, g.reversed,
  g.used - coalesce(h.held, 0) as spent, coalesce(h.held, 0) as held, g.owes, g.pays, g.usable
from wallet.grants($1) with ordinality as g
left join (
  select p.provider_payment_id, p.part, sum(p.amount)::bigint as held
  from wallet.spend s
  join wallet.spend_part p using (key)
  where s.user_id = $1 and s.state = 'held' and s.held_until > now()
  group by p.provider_payment_id, p.part
) h using (provider_payment_id, part)
order by g.ordinality
