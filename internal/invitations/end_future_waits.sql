-- makes invitations due that wait for more than a day, longer than payfold ever waits: a wrong clock has set the time.
-- Only a scan of all users does it.
update payfold.invitation set due_at = $2
where repository = $1 and due_at > $2::timestamptz + interval '25 hours' and $3::text[] is null
