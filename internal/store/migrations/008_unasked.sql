-- tells attempts that ended before GitHub was asked to change anything from others
alter table payfold.invitation_attempt
  add column unasked boolean not null default false; -- reserved, and not asked yet; false also for attempts of older builds, which may have asked

---- create above / drop below ----

alter table payfold.invitation_attempt drop column unasked;
