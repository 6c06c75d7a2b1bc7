-- of each refund, with its id, the names of its payment and when it was made: its payment, what became of it, the
-- currency of its amount, and the largest total of the payment's refunds that was told since; number counts the refunds
-- from 1
select n.number, p.provider_payment_id, coalesce(p.user_id, ''), coalesce(p.currency, ''),
  coalesce(p.refunded_amount, 0), r.event_id, r.occurred_at,
  coalesce(r.status, ''), r.amount, coalesce(r.currency, p.currency, ''), coalesce(t.total, 0)
from unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[]) with ordinality
  as n (reversal, transaction, ordered, made, number)
join lateral (
  select * from payment where provider_payment_id in (n.transaction, n.ordered)
  union all
  select * from payment where transaction_id = n.transaction
  union all
  select * from payment where order_id = n.ordered
  limit 1
) p on true
left join lateral (
  select (array_agg(event_id order by decides))[1] as event_id,
    (array_agg(occurred_at order by decides))[1] as occurred_at,
    (array_agg(status order by decides))[1] as status,
    (array_agg(amount order by decides) filter (where amount is not null))[1] as amount,
    (array_agg(currency order by decides) filter (where amount is not null))[1] as currency
  from (
    -- the newest event about one refund decides, at one moment the one that is further on its way
    select event_id, occurred_at, status, amount, currency, row_number() over (
      order by occurred_at desc, array_position(array['failed', 'succeeded', 'pending'], status), event_id desc
    ) as decides
    from reversal
    where provider_payment_id in (p.provider_payment_id, p.order_id) and reversal_id = n.reversal
  ) one
) r on true
left join lateral (
  select max(total) as total from reversal
  where provider_payment_id in (p.provider_payment_id, p.order_id) and occurred_at >= n.made - interval '1 minute'
) t on true
