-- the paid periods of subscriptions, those of one subscription together: what was paid, from when on, and until when.
-- A period ends early where its payment was wholly taken back, and where its subscription stopped to count
select p.subscription_id, coalesce(p.currency, 'unknown'), p.amount, p.period_start, p.period_end,
  least(p.period_end, p.reversed_at,
    case
      when s.status not in ('active', 'trialing', 'past_due', 'scheduled_cancel', 'canceled') then s.occurred_at
    end)
from payment_facts p
left join subscription_facts s using (subscription_id)
where p.paid and p.known and p.subscription_id is not null and p.amount > 0
order by p.subscription_id
