-- few attempts have no known outcome, and each choice of an attempt looks for them
create index invitation_attempt_in_doubt on payfold.invitation_attempt (repository) where outcome = 'unknown';

---- create above / drop below ----

drop index payfold.invitation_attempt_in_doubt;
