package verify

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func definitionsOf(ctx context.Context, t *testing.T, s *store.Store) []DefinitionDifference {
	t.Helper()
	frozen, err := freeze(ctx, s)
	require.NoError(t, err)
	defer frozen.Close()
	found, err := frozen.Definitions(ctx, fixture.AnyMode)
	require.NoError(t, err)
	return found
}

// Each statement changes the tables, and verify names the changed object.
func TestEveryChangedDefinitionIsNamed(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, `create schema reports; create table reports.t (user_id text);
		create function reports.swallow() returns trigger language plpgsql as 'begin return null; end'`)
	require.NoError(t, err)
	for sql, want := range map[string]DefinitionDifference{
		"create or replace view credit_balance as select user_id, 0::bigint as balance from credits": {Object: "view credit_balance", Fault: Changed},
		"alter view credit_balance set (security_barrier = true)":                                    {Object: "view credit_balance", Fault: Changed},
		"drop view credit_balance":                                     {Object: "view credit_balance", Fault: Missing},
		"alter view credit_balance alter column balance set default 7": {Object: "column credit_balance.balance", Fault: Changed},
		"alter view entitlement alter column active set default true":  {Object: "column entitlement.active", Fault: Changed},
		"create or replace view credit_grant as select provider_payment_id, line as part, user_id, kind, " +
			"delta as granted, delta as reversed, available_at, expires_at, event_id from credit_ledger": {
			Object: "view credit_grant", Fault: Changed,
		},
		"drop view credit_grant": {Object: "view credit_grant", Fault: Missing},
		"create trigger swallow before insert on reversal for each row execute function reports.swallow()": {Object: "trigger swallow on reversal", Fault: Extra},
		"create rule swallow as on insert to reversal do instead nothing":                                  {Object: "rule swallow on reversal", Fault: Extra},
		"alter table payment_facts drop constraint payment_facts_transaction_id_key":                       {Object: "constraint payment_facts_transaction_id_key on payment_facts", Fault: Missing},
		"alter table credits drop constraint credits_pkey":                                                 {Object: "constraint credits_pkey on credits", Fault: Missing},
		"alter table credits drop constraint credits_check":                                                {Object: "constraint credits_check on credits", Fault: Missing},
		"alter table credits drop constraint credits_granted_check; alter table credits add constraint credits_granted_check check (granted >= -1)": {
			Object: "constraint credits_granted_check on credits", Fault: Changed,
		},
		"alter table credits add check (granted >= 0) not valid":                                        {Object: "constraint credits_granted_check1 on credits", Fault: Extra},
		"alter table credits add foreign key (user_id) references credits":                              {Object: "constraint credits_user_id_fkey on credits", Fault: Extra},
		"drop index payment_facts_unclaimed":                                                            {Object: "index payment_facts_unclaimed on payment_facts", Fault: Missing},
		"drop index processed_event_user":                                                               {Object: "index processed_event_user on processed_event", Fault: Missing},
		"create unique index mine on credits (granted)":                                                 {Object: "index mine on credits", Fault: Extra},
		"drop index payment_facts_pro; create index payment_facts_pro on payment_facts (kind)":          {Object: "index payment_facts_pro on payment_facts", Fault: Changed},
		"update pg_index set indisvalid = false where indexrelid = 'payment_facts_unclaimed'::regclass": {Object: "index payment_facts_unclaimed on payment_facts", Fault: Changed},
		"alter table credits enable row level security":                                                 {Object: "table credits", Fault: Changed},
		"create policy nobody on credits using (false)":                                                 {Object: "policy nobody on credits", Fault: Extra},
		"alter table credits alter balance drop not null":                                               {Object: "column credits.balance", Fault: Changed},
		"alter table credits alter balance set default 5":                                               {Object: "column credits.balance", Fault: Changed},
		"alter table pro_license alter status type varchar(20)":                                         {Object: "column pro_license.status", Fault: Changed},
		`alter table reversal alter order_id type text collate "C"`:                                     {Object: "column reversal.order_id", Fault: Changed},
		"alter table credits add note text":                                                             {Object: "column credits.note", Fault: Extra},
		"alter table reversal drop paid":                                                                {Object: "column reversal.paid", Fault: Missing},
		"alter table duplicate_event set unlogged":                                                      {Object: "table duplicate_event", Fault: Changed},
		"create table reports.more () inherits (portal.credits)":                                        {Object: "table credits", Fault: Changed},
		"create table notes (note text)":                                                                {Object: "table notes", Fault: Extra},
		"create function lower(text) returns text language sql as 'select $1'":                          {Object: "function portal.lower(text)", Fault: Extra},
		"create type mood as enum ('good')":                                                             {Object: "type mood", Fault: Extra},
	} {
		t.Run(sql, func(t *testing.T) { requireNamed(ctx, t, s, sql, want.Object, want.Fault) })
	}
}

// requireNamed changes an object, requires that the change is named, and takes it back.
func requireNamed(ctx context.Context, t *testing.T, s *store.Store, sql, object, fault string) {
	t.Helper()
	var ours []string
	for _, i := range tables.Indexes {
		ours = append(ours, i.Name)
	}
	err := pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		should, rights, err := definitions(ctx, tx, s.Schema(), ours)
		require.NoError(t, err)
		require.Empty(t, rights)
		_, err = tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		is, rights, err := definitions(ctx, tx, s.Schema(), ours)
		require.NoError(t, err)
		for _, d := range append(differentDefinitions(is, should, true), rights...) {
			if d.Object == object {
				require.Equal(t, fault, d.Fault)
				return errRollback
			}
		}
		return fmt.Errorf("it is not named: %s %s", fault, object)
	})
	require.ErrorIs(t, err, errRollback)
}

// Each statement changes schema wallet, and verify names the changed object.
func TestEveryChangeOfTheWalletIsNamed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, _ := fixture.AsProjector(ctx, t)
	_, err := s.Pool().Exec(ctx, "create index theirs on wallet.spend (note)")
	require.NoError(t, err)
	require.Empty(t, definitionsOf(ctx, t, s), "an index that somebody added is no fault")
	const spend = "function spend(text,numeric,text,text)"
	for _, one := range []struct{ sql, fault, object string }{
		{`create or replace function wallet.spend(user_id text, amount numeric, key text, note text default null)
			returns boolean language sql security definer set search_path = pg_catalog, pg_temp as 'select true'`, Changed, spend},
		{"alter function wallet.spend security invoker", Changed, spend},
		{"alter function wallet.spend set search_path = pg_temp", Changed, spend},
		{"grant execute on function wallet.spend to public", Changed, spend},
		{"alter function wallet.take rename to took", Missing, "function take(text,bigint,text,text)"},
		{"create function wallet.mine() returns int language sql as 'select 1'", Extra, "function mine()"},
		{"alter type wallet.grant_state add attribute more text", Extra, "column grant_state.more"},
		{"alter table wallet.spend drop constraint spend_amount_check", Missing, "constraint spend_amount_check on spend"},
		{"alter table wallet.spend_part drop constraint spend_part_key_fkey", Missing, "constraint spend_part_key_fkey on spend_part"},
		{"drop index wallet.spend_held", Missing, "index spend_held on spend"},
		{"alter table wallet.spend_part set unlogged", Changed, "table spend_part"},
		{"alter table wallet.spend alter created_at drop default", Changed, "column spend.created_at"},
		{"grant insert on wallet.spend to payfold_portal", Extra, "grant of insert on table spend to payfold_portal"},
		{"revoke select on wallet.spend from payfold_portal", Missing, "grant of select on table spend to payfold_portal"},
	} {
		t.Run(one.sql, func(t *testing.T) { requireNamedInWallet(ctx, t, s, one.sql, one.object+" (schema wallet)", one.fault) })
	}
	requireNamedInWallet(ctx, t, s, "drop schema wallet cascade", "schema wallet", Missing)
}

// requireNamedInWallet is requireNamed for an object of schema wallet.
func requireNamedInWallet(ctx context.Context, t *testing.T, s *store.Store, sql, object, fault string) {
	t.Helper()
	err := pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql)
		require.NoError(t, err)
		found, err := walletDifferences(ctx, tx)
		require.NoError(t, err)
		at := slices.IndexFunc(found, func(d DefinitionDifference) bool { return d.Object == object })
		require.GreaterOrEqual(t, at, 0, "it is not named: %v", found)
		require.Equal(t, fault, found[at].Fault)
		return errRollback
	})
	require.ErrorIs(t, err, errRollback)
}

func TestTablesOfThisBuildHaveNoDifferentDefinitions(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	_, err := s.Pool().Exec(ctx, `create index theirs on payment_facts (currency); create statistics theirs_too on kind, currency from payment_facts;
		comment on table credits is 'ours'; alter table credits set (autovacuum_enabled = false)`)
	require.NoError(t, err)
	require.Empty(t, definitionsOf(ctx, t, s))
	var left int64
	require.NoError(t, s.Pool().QueryRow(ctx, "select count(*) from pg_namespace where nspname = 'portal_aside'").Scan(&left))
	require.Zero(t, left)

	next := fixture.Candidate(ctx, t, s, 0)
	require.Empty(t, definitionsOf(ctx, t, next), "a rebuild has no keys yet")
	_, err = s.Pool().Exec(ctx, "create index payment_facts_pro on portal_next.payment_facts (kind); alter table portal_next.credits drop balance cascade")
	require.NoError(t, err)
	require.Len(t, definitionsOf(ctx, t, next), 6, "an index, a check, the dropped column, and the columns after it, whose places have changed")
}

// Settings of the database change how Postgres prints definitions, and who reads them.
func TestSettingsOfTheDatabaseChangeNoDefinition(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	for _, setting := range []string{
		"quote_all_identifiers = on", "parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0",
	} {
		_, err := s.Pool().Exec(ctx, "do $$ begin execute format('alter database %I set "+setting+"', current_database()); end $$")
		require.NoError(t, err)
	}
	s.Pool().Reset()
	candidate, err := s.OpenSchema(ctx, "portal_next")
	require.NoError(t, err)
	defer candidate.Close()
	require.NoError(t, candidate.Prepare(ctx, "log-1", fixture.Partitions, fixture.AnyMode))
	require.Empty(t, definitionsOf(ctx, t, s))
	require.Empty(t, definitionsOf(ctx, t, candidate), "keys and indexes come later")
	_, err = s.Pool().Exec(ctx, "drop view credit_balance")
	require.NoError(t, err)
	require.Equal(t, "column credit_balance.balance", definitionsOf(ctx, t, s)[0].Object, "the names are as without the settings")
}

// No promotion adds a key to tables as of a message.
func TestAKeyThatTablesAsOfAMessageLackIsNamed(t *testing.T) {
	t.Parallel()
	ctx, live := fixture.Tables(t)
	s, err := live.OpenSchema(ctx, "past")
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.PrepareAsOf(ctx, "log-1", fixture.Partitions, fixture.AnyMode, 2))
	fixture.Apply(ctx, t, s, 1)
	require.Empty(t, definitionsOf(ctx, t, s), "the rebuild goes on")

	connection, err := s.Pool().Acquire(ctx)
	require.NoError(t, err)
	defer connection.Release()
	_, err = s.Pool().Exec(ctx, "update checkpoint set position = 2")
	require.NoError(t, err)
	require.NoError(t, pgx.BeginFunc(ctx, s.Pool(), func(tx pgx.Tx) error { return store.StopAutovacuum(ctx, tx, tables.NameList()...) }))
	require.Empty(t, definitionsOf(ctx, t, s), "the rebuild makes indexes")
	require.NoError(t, store.MakeIndexes(ctx, s.Schema(), tables.InUse, connection))
	require.NoError(t, store.StartAutovacuum(ctx, s.Schema(), connection))
	require.Empty(t, definitionsOf(ctx, t, s))
	_, err = s.Pool().Exec(ctx, "alter table credits drop constraint credits_pkey; drop index processed_event_user")
	require.NoError(t, err)
	var named []string
	for _, d := range definitionsOf(ctx, t, s) {
		named = append(named, d.Fault+" "+d.Object)
	}
	require.Equal(t, []string{"missing constraint credits_pkey on credits", "missing index processed_event_user on processed_event"}, named)
}

// A role may write, a role may not read any more, or everybody may read.
func TestEveryWrongRightIsNamed(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, _ := fixture.AsProjector(ctx, t)
	require.Empty(t, definitionsOf(ctx, t, s))
	for sql, want := range map[string]DefinitionDifference{
		"grant insert on credits to payfold_portal":           {Object: "grant of insert on table credits to payfold_portal", Fault: Extra},
		"grant update (balance) on credits to payfold_portal": {Object: "grant of update on column balance of table credits to payfold_portal", Fault: Extra},
		"grant trigger on payment_facts to public":            {Object: "grant of trigger on table payment_facts to public", Fault: Extra},
		"grant select on credits to public":                   {Object: "grant of select on table credits to public", Fault: Extra},
		"grant create on schema portal to payfold_portal":     {Object: "grant of create on schema to payfold_portal", Fault: Extra},
		"revoke select on credit_balance from payfold_portal": {Object: "grant of select on view credit_balance to payfold_portal", Fault: Missing},
		"revoke usage on schema portal from payfold_portal":   {Object: "grant of usage on schema to payfold_portal", Fault: Missing},
		"alter default privileges in schema portal grant delete on tables to payfold_portal": {
			Object: "grant of delete on tables to come to payfold_portal", Fault: Extra,
		},
		"alter default privileges grant update on tables to payfold_portal": { // in every schema
			Object: "grant of update on tables to come to payfold_portal", Fault: Extra,
		},
	} {
		t.Run(sql, func(t *testing.T) { requireNamed(ctx, t, s, sql, want.Object, want.Fault) })
	}
}
