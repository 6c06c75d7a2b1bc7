-- makes invitations due that wait for longer than $3 (maxAhead): a wrong clock has set the time
update payfold.invitation set due_at = $2
where repository = $1 and due_at > $2::timestamptz + $3::interval
