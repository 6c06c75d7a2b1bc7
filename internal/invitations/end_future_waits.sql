-- ends pauses and waits that are longer than $3 (maxAhead): a wrong clock has set their times
with ended as (
  delete from payfold.invitation_pause where repository = $1 and paused_until > $2::timestamptz + $3::interval
)
update payfold.invitation set due_at = $2
where repository = $1 and due_at > $2::timestamptz + $3::interval
