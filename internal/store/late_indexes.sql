-- indexes that the fold of a whole log does not need: a rebuild makes them at its end
create unique index if not exists processed_event_stream_seq on processed_event (stream_seq);
create index if not exists processed_event_user on processed_event (user_id, stream_seq) where user_id is not null;
create index if not exists processed_event_subscription on processed_event (subscription_id, stream_seq) where subscription_id is not null;
create index if not exists processed_event_payment on processed_event (provider_payment_id, stream_seq) where provider_payment_id is not null;
