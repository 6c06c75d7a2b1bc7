-- numbers: when the live tables, the invitations or the comparisons have changed, at least one differs
select (select sum(position) from checkpoint)::bigint, 'checkpoint'::regclass::oid::bigint,
       (select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::bigint from pg_stat_all_tables
        where relid in (to_regclass('payfold.invitation'), to_regclass('payfold.invitation_pause'), to_regclass('payfold.reconciled')))
