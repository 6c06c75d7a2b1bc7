-- withdraws invitations that name no GitHub user or no repository, without a request. For all
-- others GitHub is asked, because their record may be lost.
update payfold.invitation i
set status = 'withdrawn', reason = 'revoked before it was sent', changed_at = $2
where i.repository = $1 and i.revoked and i.status = 'pending' and (i.github_username is null or $1 = '')
  and ($3::text[] is null or i.user_id = any($3))
