-- the customers after one; each part is read from the key of its table
select user_id, coalesce(s.status, '') as status, coalesce(s.product_key, l.product_key, '') as product_key,
  s.current_period_end, c.balance as packs, coalesce(l.status, '') as license
from (
  select user_id
  from (
    (select user_id from subscription where user_id > @id order by user_id limit @window)
    union
    (select user_id from credits where user_id > @id order by user_id limit @window)
    union
    (select user_id from pro_license where user_id > @id order by user_id limit @window)
  ) one
  order by user_id
  limit @window
) customer
left join subscription s using (user_id)
left join credits c using (user_id)
left join pro_license l using (user_id)
order by user_id
