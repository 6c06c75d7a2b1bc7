-- tells invitations that payfold made from those that it only found
alter table payfold.invitation
  add column not_ours boolean not null default false; -- somebody else made it, or it has ended: any access now is from somebody else
-- Older builds recorded found invitations as their own.
update payfold.invitation i set not_ours = true
where i.invited_at < (select min(o.activated_at) - interval '5 minutes' from payfold.invitation o
    where o.repository = i.repository and lower(o.github_username) = lower(i.github_username))
  and not exists (select from payfold.invitation_attempt a
    where a.repository = i.repository and lower(a.github_username) = lower(i.github_username)
      and a.purpose = 'invite' and a.outcome is distinct from 'not_sent');

---- create above / drop below ----

alter table payfold.invitation drop column not_ours;
