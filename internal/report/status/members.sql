-- the projectors that share the work
select m.owner, m.last_seen,
       (select count(*) from payfold.lease l where l.owner = m.owner and l.expires_at > now())
from payfold.member m
order by m.owner
