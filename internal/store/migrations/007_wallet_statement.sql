-- what is left of a grant expires with it, and what comes back to it later does at once: each line has the balance of its
-- moment, unless credits that return change which of several expired grants has paid a debt
create or replace function wallet.statement(user_id text)
returns table (
  at timestamptz, what text, key text, event_id text, provider_payment_id text, part bigint, delta bigint,
  balance bigint
) language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  who alias for $1;
begin
  return query
  with own as materialized (
    select * from wallet.grants(who) as g where granted is not null and wallet.counts(g)
  ), line as (
    select available_at as at, 1 as place, 'grant' as what, null as key, event_id, provider_payment_id, part,
      granted as delta
    from own
    union all
    -- reversals, and corrections that give back what was reversed
    select greatest(l.occurred_at, l.available_at), 2, l.entry, null, l.event_id, l.provider_payment_id, g.part, l.delta
    from portal.credit_ledger l
    join own g on g.provider_payment_id = l.provider_payment_id and g.kind = l.kind
      and l.available_at - g.available_at between interval '0' and interval '27 days 23:59:59.999999'
    where l.user_id = who and l.entry <> 'grant' and (l.entry <> 'correction' or l.delta > 0)
    union all
    select created_at, 3, entry, key, null, provider_payment_id, part, -amount
    from wallet.spend_part
    where user_id = who
    union all
    -- holds that have run out, and that the next change releases
    select h.held_until, 4, 'release', key, null, p.provider_payment_id, p.part, p.amount
    from wallet.spend h
    join wallet.spend_part p using (key)
    where h.user_id = who and h.state = 'held' and h.held_until <= now()
  ), rest as (
    -- what an expired grant has left after each line, beside what it has paid of debts
    select line.*, expires_at, greatest(sum(delta) over of_grant - pays, 0) as left_then
    from line
    join (select provider_payment_id, part, expires_at, pays from own where expires_at <= now()) expired
      using (provider_payment_id, part)
    window of_grant as (partition by provider_payment_id, part order by at, place, key, event_id, delta
      rows unbounded preceding)
  ), change as (
    select *, left_then - lag(left_then, 1, 0::numeric) over (partition by provider_payment_id, part
      order by at, place, key, event_id, delta) as more
    from rest
  ), expiry as (
    -- what is left at the end, and what comes back later; what a later refund takes of it has not expired
    select greatest(at, expires_at) as at, 5 as place, 'expiry' as what, null as key, null as event_id,
      provider_payment_id, part, -sum(more)::bigint as delta
    from change
    group by greatest(at, expires_at), provider_payment_id, part
    having sum(more) <> 0
  )
  select at, what, key, event_id, provider_payment_id, part, delta, (sum(delta) over in_order)::bigint
  from (select * from line union all select * from expiry) all_lines
  window in_order as (order by at, place, key, event_id, provider_payment_id, part, delta rows unbounded preceding)
  order by at, place, key, event_id, provider_payment_id, part, delta;
end $$;

---- create above / drop below ----

create or replace function wallet.statement(user_id text)
returns table (
  at timestamptz, what text, key text, event_id text, provider_payment_id text, part bigint, delta bigint,
  balance bigint
) language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  who alias for $1;
begin
  return query
  with own as materialized (
    select * from wallet.grants(who) as g where granted is not null and wallet.counts(g)
  ), line as (
    select available_at as at, 1 as place, 'grant' as what, null as key, event_id, provider_payment_id, part,
      granted as delta
    from own
    union all
    -- reversals, and corrections that give back what was reversed
    select greatest(l.occurred_at, l.available_at), 2, l.entry, null, l.event_id, l.provider_payment_id, g.part, l.delta
    from portal.credit_ledger l
    join own g on g.provider_payment_id = l.provider_payment_id and g.kind = l.kind
      and l.available_at - g.available_at between interval '0' and interval '27 days 23:59:59.999999'
    where l.user_id = who and l.entry <> 'grant' and (l.entry <> 'correction' or l.delta > 0)
    union all
    select created_at, 3, entry, key, null, provider_payment_id, part, -amount
    from wallet.spend_part
    where user_id = who
    union all
    -- holds that have run out, and that the next change releases
    select h.held_until, 4, 'release', key, null, p.provider_payment_id, p.part, p.amount
    from wallet.spend h
    join wallet.spend_part p using (key)
    where h.user_id = who and h.state = 'held' and h.held_until <= now()
    union all
    select expires_at, 5, 'expiry', null, null, provider_payment_id, part, used - owes + pays - granted + reversed
    from own
    where expires_at <= now() and granted - reversed - used + owes > pays
  )
  select at, what, key, event_id, provider_payment_id, part, delta, (sum(delta) over in_order)::bigint
  from line
  window in_order as (order by at, place, key, event_id, provider_payment_id, part, delta rows unbounded preceding)
  order by at, place, key, event_id, provider_payment_id, part, delta;
end $$;
