-- intervals are compared as if each month had 30 days, but a hold ends on a day of the calendar
create or replace function wallet.hold(user_id text, amount numeric, key text, lasts interval) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  usable boolean := $4 > interval '0' and $4 <= interval '366 days';
begin
  if usable then
    usable := now() + $4 > now() and now() + $4 <= now() + interval '366 days';
  end if;
  if usable is not true then
    raise invalid_parameter_value using message = format('the hold lasts %s, must be above 0 and at most 366 days', $4);
  end if;
  return wallet.begin_spend($1, $2, $3, null, $4);
end $$;

---- create above / drop below ----

create or replace function wallet.hold(user_id text, amount numeric, key text, lasts interval) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if $4 is null or $4 <= interval '0' or $4 > interval '366 days' then
    raise invalid_parameter_value using message = format('the hold lasts %s, must be above 0 and at most 366 days', $4);
  end if;
  return wallet.begin_spend($1, $2, $3, null, $4);
end $$;
