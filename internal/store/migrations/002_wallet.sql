-- schema wallet: what apps spend of the credits that the live tables grant
--
-- It outlives every promotion. So nothing in it may depend on an object of schema portal: the functions are texts,
-- which find the live tables by name at each call.

create schema if not exists wallet;

-- Each change of a user's spends updates the user's row first, so two of them never run at once. A row is better than
-- an advisory lock: at isolation level repeatable read or serializable, a transaction that began before a change of
-- another one gets a serialization failure, where it would spend the same credits again.
create table wallet.account (
  user_id text primary key,
  changes bigint not null
);

create table wallet.spend (
  key        text primary key check (octet_length(key) between 1 and 255),
  user_id    text not null references wallet.account,
  amount     bigint not null check (amount > 0),
  state      text not null check (state in ('refused', 'held', 'spent', 'released')),
  held_until timestamptz,
  confirmed  bigint check (confirmed between 1 and amount),
  note       text,
  created_at timestamptz not null default now(),
  check (held_until is not null or state in ('refused', 'spent')),
  check ((confirmed is not null) = (held_until is not null and state = 'spent'))
);
create index spend_user on wallet.spend (user_id, created_at);
create index spend_held on wallet.spend (user_id, held_until) where state = 'held';

create table wallet.spend_part (
  key                 text not null references wallet.spend,
  number              bigint not null check (number > 0),
  entry               text not null check (entry in ('spend', 'hold', 'release', 'give_back')),
  user_id             text not null,
  provider_payment_id text not null,
  part                bigint not null,
  amount              bigint not null check (amount <> 0 and (amount > 0) = (entry in ('spend', 'hold'))),
  created_at          timestamptz not null default now(),
  primary key (key, number)
);
create index spend_part_user on wallet.spend_part (user_id, provider_payment_id, part)
  include (amount, key, created_at);

-- checked_amount returns a number of credits, or an error that says what is wrong with it. Its argument is numeric so
-- that it is reached by numbers beyond bigint, too.
create function wallet.checked_amount(amount numeric) returns bigint language plpgsql as $$
begin
  if amount is null or amount <> amount or amount < 1 or amount > 9223372036854775807 or amount <> trunc(amount) then
    raise invalid_parameter_value using message = format('the amount is %s, must be a whole number from 1 to %s',
      coalesce(left(amount::text, 40), 'null'), 9223372036854775807);
  end if;
  return amount;
end $$;

create function wallet.check_text(what text, value text, most integer) returns void language plpgsql as $$
begin
  if value is null or octet_length(value) not between 1 and most then
    raise invalid_parameter_value using message = format('the %s has %s bytes, must have 1 to %s', what,
      coalesce(octet_length(value), 0), most);
  end if;
end $$;

-- begin_change waits until no other transaction changes what the user spends, until this one ends. Holds that have
-- run out are released.
create function wallet.begin_change(user_id text) returns void language plpgsql as $$
#variable_conflict use_column
declare
  who alias for $1;
  one record;
begin
  insert into wallet.account as a (user_id, changes) values (who, 1)
  on conflict (user_id) do update set changes = a.changes + 1;
  for one in
    update wallet.spend set state = 'released' where user_id = who and state = 'held' and held_until <= now()
    returning key, amount, held_until
  loop
    perform wallet.return_parts(one.key, one.amount, 'release', one.held_until);
  end loop;
end $$;

-- return_parts returns so many credits of a key to their grants, at most all of them, those of the last grant first. It
-- returns how many.
create function wallet.return_parts(key text, most bigint, entry text, at timestamptz) returns bigint
language plpgsql as $$
#variable_conflict use_column
declare
  of_key alias for $1;
  most alias for $2;
  as_entry alias for $3;
  at alias for $4;
  total bigint;
begin
  with taken as (
    select user_id, provider_payment_id, part, sum(amount) as amount, min(number) as place
    from wallet.spend_part
    where key = of_key
    group by user_id, provider_payment_id, part
    having sum(amount) > 0
  ), last_first as (
    select *, sum(amount) over (order by place desc) - amount as before from taken
  ), returned as (
    insert into wallet.spend_part (key, number, entry, user_id, provider_payment_id, part, amount, created_at)
    select of_key,
      (select max(number) from wallet.spend_part where key = of_key) + row_number() over (order by place desc),
      as_entry, user_id, provider_payment_id, part, -least(amount, most - before), at
    from last_first
    where before < most
    returning amount
  )
  select coalesce(-sum(amount), 0) into total from returned;
  return total;
end $$;

-- What a user has of one grant. Its columns are described at the end.
create type wallet.grant_state as (
  provider_payment_id text,
  part                bigint,
  kind                text,
  event_id            text,
  available_at        timestamptz,
  expires_at          timestamptz,
  granted             bigint,
  reversed            bigint,
  used                bigint,
  owes                bigint,
  pays                bigint,
  usable              bigint
);

-- grants lists the user's grants in the order in which they are spent: those that expire first, those that never expire
-- last, subscriptions before packs, then the oldest. A grant that is gone after a rebuild and has been spent is in the
-- list, with null as granted.
create function wallet.grants(user_id text) returns setof wallet.grant_state
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
declare
  own wallet.grant_state[] := wallet.own_grants($1);
  one wallet.grant_state;
begin
  if exists (select from unnest(own) where coalesce(granted - reversed, 0) < used) then
    own := wallet.with_debts($1, own);
  end if;
  foreach one in array own loop
    if wallet.counts(one) and one.expires_at > now() is not false then
      one.usable := coalesce(one.granted - one.reversed, 0) - one.used + one.owes - one.pays;
    end if;
    return next one;
  end loop;
end $$;

-- counts reports whether a grant is available. One that has been spent was available, even if a rebuild moves it.
create function wallet.counts(one wallet.grant_state) returns boolean language plpgsql stable as $$
begin
  return one.available_at <= now() or one.used > 0;
end $$;

-- own_grants lists the user's grants in the order of grants, without debts.
create function wallet.own_grants(user_id text) returns wallet.grant_state[] language plpgsql stable as $$
#variable_conflict use_column
declare
  who alias for $1;
begin
  return (
    with taken as (
      select provider_payment_id, part, sum(amount)::bigint as used
      from wallet.spend_part
      where user_id = who and key not in
        (select key from wallet.spend where user_id = who and state = 'held' and held_until <= now())
      group by provider_payment_id, part
      having sum(amount) > 0
    ), own as (
      select provider_payment_id, part, g.kind, g.event_id, g.available_at, g.expires_at, g.granted, g.reversed,
        coalesce(t.used, 0) as used, 0::bigint as owes, 0::bigint as pays, 0::bigint as usable
      from (select * from portal.credit_grant where user_id = who) g
      full join taken t using (provider_payment_id, part)
    )
    select coalesce(array_agg(own::wallet.grant_state order by coalesce(expires_at, 'infinity'),
      kind is distinct from 'subscription', available_at, provider_payment_id, part), '{}')
    from own
  );
end $$;

-- with_debts returns the grants with what they owe and pay. A refund takes what is left of its grant. If that is not
-- enough, the grant owes the rest. What the user had left of other grants at that moment pays it, in the order of
-- spending, then the next grants as they come.
--
-- Who pays follows from the times of grants and refunds, at each call. So nobody has to look in time, and what a
-- grant has paid stays paid when it expires.
create function wallet.with_debts(user_id text, own wallet.grant_state[]) returns wallet.grant_state[]
language plpgsql stable as $$
declare
  own alias for $2;
  rest bigint[] := array_fill(0::bigint, array[cardinality(own)]);
  owed bigint := 0;
  paid bigint;
  one wallet.grant_state;
  step record;
begin
  for step in select * from wallet.debt_steps($1, own) loop
    rest[step.place] := rest[step.place] + step.change;
    if rest[step.place] < 0 then
      one := own[step.place];
      one.owes := one.owes - rest[step.place];
      own[step.place] := one;
      owed := owed - rest[step.place];
      rest[step.place] := 0;
    end if;
    for payer in 1 .. cardinality(own) loop
      exit when owed = 0;
      one := own[payer];
      if rest[payer] > 0 and least(one.available_at, now()) <= step.moment
        and one.expires_at > step.moment is not false then
        paid := least(owed, rest[payer]);
        one.pays := one.pays + paid;
        own[payer] := one;
        rest[payer] := rest[payer] - paid;
        owed := owed - paid;
      end if;
    end loop;
  end loop;
  return own;
end $$;

-- debt_steps lists, in order, the moments at which more or less is left of a grant, whose place in own it names. What has
-- been spent counts from the beginning, because nobody can spend what pays a debt.
create function wallet.debt_steps(user_id text, own wallet.grant_state[])
returns table (moment timestamptz, place integer, change bigint) language plpgsql stable as $$
#variable_conflict use_column
declare
  who alias for $1;
  own alias for $2;
begin
  return query
  with counted as (
    select one.*, i as place, coalesce(one.granted, 0) - one.used as rest
    from generate_subscripts(own, 1) i, lateral unnest(own[i:i]) one
    where wallet.counts(own[i])
  ), refund as (
    -- of refunds that were given back in part, the latest ones count
    select c.place, c.available_at, c.reversed, l.occurred_at, -l.delta as credits,
      sum(-l.delta) over (partition by c.place order by l.occurred_at desc, l.line desc) + l.delta as later
    from counted c
    join portal.credit_ledger l using (provider_payment_id)
    where l.user_id = who and l.entry in ('refund', 'chargeback')
      and l.available_at - c.available_at between interval '0' and interval '27 days 23:59:59.999999'
  ), step as (
    select least(available_at, now()) as moment, place, rest as change from counted where rest > 0
    union all
    select least(greatest(occurred_at, available_at), now()), place, -least(credits, reversed - later)
    from refund
    where later < reversed
    union all
    -- a correction or a rebuild has made the grant smaller than what was spent of it
    select coalesce(
        (select max(l.occurred_at) from portal.credit_ledger l
          where l.provider_payment_id = c.provider_payment_id and l.user_id = who and l.entry = 'correction'
            and l.delta < 0),
        (select min(p.created_at) from wallet.spend_part p
          where p.user_id = who and p.provider_payment_id = c.provider_payment_id and p.part = c.part)),
      place, rest
    from counted c
    where rest < 0
  )
  select s.moment, s.place, s.change::bigint
  from step s
  order by s.moment, s.change desc;
end $$;

create function wallet.balance(user_id text) returns bigint
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
begin
  return (select coalesce(sum(usable + pays - owes), 0) from wallet.grants($1));
end $$;

-- take takes credits for a key, or returns false if there are not enough. begin_change comes first.
create function wallet.take(user_id text, amount bigint, key text, entry text) returns boolean language plpgsql as $$
#variable_conflict use_column
declare
  who alias for $1;
  wanted alias for $2;
  of_key alias for $3;
  as_entry alias for $4;
begin
  with own as materialized (
    select * from wallet.grants(who) with ordinality as g
  ), usable as (
    select *, sum(usable) over (order by ordinality) - usable as before from own where usable > 0
  )
  insert into wallet.spend_part (key, number, entry, user_id, provider_payment_id, part, amount)
  select of_key, row_number() over (order by ordinality), as_entry, who, provider_payment_id, part,
    least(usable, wanted - before)
  from usable
  where before < wanted and (select sum(usable + pays - owes) from own) >= wanted;
  return found;
end $$;

-- first_answer returns what the first call with the key answered; null if this is the first call. It returns an error
-- if the first call was about something else.
create function wallet.first_answer(user_id text, amount bigint, key text, is_hold boolean) returns boolean
language plpgsql as $$
#variable_conflict use_column
declare
  who alias for $1;
  wanted alias for $2;
  of_key alias for $3;
  is_hold alias for $4;
  first wallet.spend;
begin
  select * into first from wallet.spend where key = of_key;
  if not found then
    return null;
  end if;
  if first.user_id <> who or first.amount <> wanted or (first.held_until is not null) <> is_hold then
    raise unique_violation using message = format('the key %L was used for a %s of %s credits of another call or user',
      of_key, case when first.held_until is null then 'spend' else 'hold' end, first.amount);
  end if;
  return first.state <> 'refused';
end $$;

create function wallet.spend(user_id text, amount numeric, key text, note text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  return wallet.begin_spend($1, $2, $3, $4, null);
end $$;

create function wallet.hold(user_id text, amount numeric, key text, lasts interval) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if $4 is null or $4 <= interval '0' or $4 > interval '366 days' then
    raise invalid_parameter_value using message = format('the hold lasts %s, must be above 0 and at most 366 days', $4);
  end if;
  return wallet.begin_spend($1, $2, $3, null, $4);
end $$;

create function wallet.begin_spend(user_id text, amount numeric, key text, note text, lasts interval) returns boolean
language plpgsql as $$
#variable_conflict use_column
declare
  who alias for $1;
  of_key alias for $3;
  note alias for $4;
  lasts alias for $5;
  wanted bigint := wallet.checked_amount($2);
  first boolean;
begin
  perform wallet.check_text('user', who, 255), wallet.check_text('key', of_key, 255);
  if octet_length(note) > 1000 then
    raise invalid_parameter_value using
      message = format('the note has %s bytes, must have at most 1000', octet_length(note));
  end if;
  perform wallet.begin_change(who);
  first := wallet.first_answer(who, wanted, of_key, lasts is not null);
  if first is not null then
    return first;
  end if;
  insert into wallet.spend (key, user_id, amount, state, held_until, note)
  values (of_key, who, wanted, 'refused', now() + lasts, note)
  on conflict (key) do nothing;
  if not found then -- another user's transaction has used the key meanwhile
    return wallet.first_answer(who, wanted, of_key, lasts is not null);
  end if;
  if not wallet.take(who, wanted, of_key, case when lasts is null then 'spend' else 'hold' end) then
    return false;
  end if;
  update wallet.spend set state = case when lasts is null then 'spent' else 'held' end where key = of_key;
  return true;
end $$;

-- changing returns the spend of a key, whose user no other transaction changes until this one ends.
create function wallet.changing(key text) returns wallet.spend language plpgsql as $$
#variable_conflict use_column
declare
  of_key alias for $1;
  one wallet.spend;
begin
  select * into one from wallet.spend where key = of_key;
  if not found then
    raise no_data_found using message = format('nothing was spent or held with the key %L', left(of_key, 255));
  end if;
  perform wallet.begin_change(one.user_id);
  select * into one from wallet.spend where key = of_key; -- as it is now
  return one;
end $$;

create function wallet.confirm(key text, amount numeric) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  of_key alias for $1;
  wanted bigint := wallet.checked_amount($2);
  held wallet.spend := wallet.changing(of_key);
begin
  if held.held_until is null then
    raise invalid_parameter_value using message = format('the key %L is that of a spend, not of a hold', of_key);
  end if;
  if wanted > held.amount then
    raise invalid_parameter_value using
      message = format('%s credits are held with the key %L, %s cannot be confirmed', held.amount, of_key, wanted);
  end if;
  if held.state = 'spent' and held.confirmed <> wanted then
    raise unique_violation using message = format('the hold %L was confirmed with %s credits', of_key, held.confirmed);
  end if;
  if held.state = 'held' then
    perform wallet.return_parts(of_key, held.amount - wanted, 'release', now());
    update wallet.spend set state = 'spent', confirmed = wanted where key = of_key;
  end if;
  return held.state in ('held', 'spent');
end $$;

create function wallet.release(key text) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  of_key alias for $1;
  held wallet.spend := wallet.changing(of_key);
begin
  if held.held_until is null then
    raise invalid_parameter_value using message = format('the key %L is that of a spend, not of a hold', of_key);
  end if;
  if held.state = 'held' then
    perform wallet.return_parts(of_key, held.amount, 'release', now());
    update wallet.spend set state = 'released' where key = of_key;
  end if;
  return held.state <> 'spent';
end $$;

create function wallet.give_back(key text, amount numeric) returns bigint
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted bigint := wallet.checked_amount($2);
  spent wallet.spend := wallet.changing($1);
begin
  if spent.state = 'held' then
    raise invalid_parameter_value using message = format('the key %L is that of a hold: confirm it or release it', $1);
  end if;
  return wallet.return_parts($1, wanted, 'give_back', now());
end $$;

create function wallet.statement(user_id text)
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

create function wallet.without_grant() returns table (user_id text, provider_payment_id text, part bigint, used bigint)
language plpgsql stable security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
begin
  return query
  select user_id, provider_payment_id, part, sum(amount)::bigint
  from wallet.spend_part
  where (user_id, provider_payment_id, part) not in
    (select g.user_id, g.provider_payment_id, g.part from portal.credit_grant g)
  group by user_id, provider_payment_id, part
  having sum(amount) > 0
  order by user_id, provider_payment_id, part;
end $$;

comment on schema wallet is 'what apps spend of the credits that portal grants';

comment on table wallet.account is 'users whose spends have changed; each change locks the row of its user';
comment on column wallet.account.user_id is 'key';
comment on column wallet.account.changes is 'the number of changes';

comment on table wallet.spend is 'each call of wallet.spend and wallet.hold, once a key';
comment on column wallet.spend.key is 'key: the app''s name of what the credits are for';
comment on column wallet.spend.user_id is 'the user';
comment on column wallet.spend.amount is 'credits that were asked for';
comment on column wallet.spend.state is
  'spent; held; released, also because its time was over; refused, because there were not enough credits';
comment on column wallet.spend.held_until is 'of a hold, when it runs out; null: it is a spend';
comment on column wallet.spend.confirmed is 'of a confirmed hold, the credits that were spent';
comment on column wallet.spend.note is 'the app''s text';
comment on column wallet.spend.created_at is 'when it was spent, held or refused';

comment on table wallet.spend_part is
  'from which grants credits were taken, and to which they went back; rows are only added';
comment on column wallet.spend_part.key is 'key, with number: that of the spend';
comment on column wallet.spend_part.number is 'the number of the part among those of the spend, from 1';
comment on column wallet.spend_part.entry is 'spend or hold; release or give_back';
comment on column wallet.spend_part.user_id is 'the user';
comment on column wallet.spend_part.provider_payment_id is 'the payment that granted the credits';
comment on column wallet.spend_part.part is 'the number of the grant in portal.credit_grant';
comment on column wallet.spend_part.amount is 'credits; above zero for spend and hold, below for release and give_back';
comment on column wallet.spend_part.created_at is 'when they were taken, or went back';

comment on type wallet.grant_state is 'what a user has of one grant';
comment on column wallet.grant_state.provider_payment_id is 'key, with part: the grant in portal.credit_grant';
comment on column wallet.grant_state.part is 'the number of the month among the grants of the payment';
comment on column wallet.grant_state.kind is 'subscription or one_time';
comment on column wallet.grant_state.event_id is 'the event that granted it';
comment on column wallet.grant_state.available_at is 'when it can be spent';
comment on column wallet.grant_state.expires_at is 'null: it never expires';
comment on column wallet.grant_state.granted is 'credits, after corrections; null: the grant is gone after a rebuild';
comment on column wallet.grant_state.reversed is 'what refunds and chargebacks have taken back';
comment on column wallet.grant_state.used is 'what was spent or is held of it';
comment on column wallet.grant_state.owes is 'what refunds have taken back after it was spent';
comment on column wallet.grant_state.pays is 'what it has paid of debts';
comment on column wallet.grant_state.usable is 'what can be spent of it now';

comment on function wallet.balance is 'what the user can spend now; below zero: a debt';
comment on function wallet.grants is 'what the user has of each grant, in the order in which they are spent';
comment on function wallet.spend is
  'spends credits; false if there are not enough. The same key, user and amount again gives the first answer';
comment on function wallet.hold is
  'keeps credits to be confirmed; false if there are not enough. The same call again gives the first answer';
comment on function wallet.confirm is
  'spends so much of a hold and returns the rest; false if nothing is held any more, or never was';
comment on function wallet.release is 'returns what is held; false if the hold was confirmed';
comment on function wallet.give_back is
  'gives spent credits back to their grants, at most what is left; returns how many';
comment on function wallet.statement is
  'grants, reversals, spends, returns and expiries of the user, with the balance after each';
comment on function wallet.without_grant is 'spends of grants that are gone after a rebuild';

-- The operator says who may spend (deploy/postgres/roles.sql). Whoever may use the schema may ask.
revoke execute on all functions in schema wallet from public;
grant execute on function wallet.balance, wallet.grants, wallet.statement, wallet.without_grant to public;

---- create above / drop below ----

drop schema wallet cascade;
