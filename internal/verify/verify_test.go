package verify_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/rebuild"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/network"
	"github.com/payfold/payfold/internal/testenv/specification"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
	"github.com/payfold/payfold/internal/verify"
)

const signedWith = "whsec_0123456789abcdef"

// verified is the log of a shop with signed events, applied up to its head.
type verified struct {
	*world.World
	tables, scratch *store.Store
	log             *eventlog.Log
	secrets         []string
	strict          bool
	faults          []verify.Fault
	differences     []verify.Difference
	definitions     []verify.DefinitionDifference
}

func setupVerified(t *testing.T) (context.Context, *verified) {
	t.Helper()
	return setupVerifiedOf(t, 600)
}

func setupVerifiedOf(t *testing.T, events int) (context.Context, *verified) {
	t.Helper()
	ctx, w := world.New(t)
	w.Log.Fill(t, testenv.ShopEvent, events, signedWith)
	stop := w.Start(ctx, t, 100)
	w.WaitApplied(ctx, t)
	require.NoError(t, stop())
	v := &verified{World: w, secrets: []string{signedWith}, log: w.Log.Log}
	var err error
	v.tables, err = store.Open(ctx, store.Config{DSN: w.DSN, Owner: "verify"})
	require.NoError(t, err)
	t.Cleanup(v.tables.Close)
	v.scratch, err = v.tables.OpenSchema(ctx, store.VerifySchema)
	require.NoError(t, err)
	t.Cleanup(v.scratch.Close)
	return ctx, v
}

func (v *verified) verify(ctx context.Context, t *testing.T) (verify.Verdict, error) {
	t.Helper()
	v.faults, v.differences, v.definitions = nil, nil, nil
	verify := verify.Verify{
		Log: v.log, Tables: v.tables, Rules: fixture.AnyMode, Secrets: specification.Secrets(v.secrets...), Strict: v.strict, Logger: testenv.Logger(t),
		Progress: func(_, _ uint64) {}, Fault: func(f verify.Fault) { v.faults = append(v.faults, f) },
		Difference: func(d verify.Difference) { v.differences = append(v.differences, d) },
		Definition: func(d verify.DefinitionDifference) { v.definitions = append(v.definitions, d) },
	}
	verdict, err := verify.Run(ctx)
	require.Len(t, v.faults, verdict.Faults)
	require.Len(t, v.differences, verdict.Differences+verdict.OutOfOrder)
	require.Len(t, v.definitions, verdict.Definitions)
	return verdict, err
}

func TestTablesThatAreAFoldOfTheLogHold(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerified(t)
	verdict, err := v.verify(ctx, t)
	require.NoError(t, err)
	require.True(t, verdict.Holds(), "%+v %+v %+v", v.differences, v.faults, v.definitions)
	require.Zero(t, verdict.Unverifiable+verdict.Pulled)
	require.Positive(t, verdict.Signed)
	require.NotEmpty(t, verdict.Sums)
	var left int
	require.NoError(t, v.DB.QueryRow(ctx, "select count(*) from pg_namespace where nspname = 'portal_verify'").Scan(&left))
	require.Zero(t, left, "nothing is left behind")

	v.secrets = []string{"another secret"}
	verdict, err = v.verify(ctx, t)
	require.NoError(t, err)
	require.True(t, verdict.Holds(), "what cannot be verified is not wrong")
	info, err := v.log.Info(ctx)
	require.NoError(t, err)
	require.EqualValues(t, info.Last, verdict.Unverifiable)

	v.strict = true
	verdict, err = v.verify(ctx, t)
	require.NoError(t, err)
	require.False(t, verdict.Holds(), "nor is it right")
	require.EqualValues(t, info.Last, verdict.Unverifiable)
	require.EqualValues(t, info.Last, verdict.Faults)
}

func TestAVerdictHoldsOnlyIfNothingIsWrong(t *testing.T) {
	t.Parallel()
	require.True(t, verify.Verdict{Lost: 1, Unverifiable: 1, Sums: []store.SumCheck{{Rule: "a rule"}}}.Holds())
	for _, wrong := range []verify.Verdict{{Faults: 1}, {Differences: 1}, {OutOfOrder: 1}, {Definitions: 1}, {Sums: []store.SumCheck{{}, {Rule: "a rule", Wrong: 1}}}} {
		require.False(t, wrong.Holds(), "%+v", wrong)
	}
}

// Only SQL by hand can make such rows: the functions of the wallet do not.
func TestSpendsThatDoNotAddUpAreFound(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 50)
	v.applyMore(ctx, t, fixture.Pack("bought", "bought", "u", 100))
	v.execute(ctx, t, `select wallet.spend('u', 10, 'k1'), wallet.hold('u', 20, 'h1', '1 hour'), wallet.spend('u', 9, 'k2'),
		wallet.spend('u', 1000, 'refused'), wallet.hold('u', 20, 'h2', '1 hour'), wallet.hold('u', 20, 'h3', '1 hour')`)
	v.execute(ctx, t, "select wallet.confirm('h1', 5), wallet.give_back('k2', 4), wallet.release('h2')")
	wrong := func() (all []string) {
		frozen, err := verify.Freeze(ctx, v.tables)
		require.NoError(t, err)
		defer frozen.Close()
		sums, err := frozen.Sums(ctx)
		require.NoError(t, err)
		for _, sum := range sums {
			if sum.Wrong > 0 {
				all = append(all, fmt.Sprint(sum.Rule, " ", sum.Wrong))
			}
		}
		return all
	}
	require.Empty(t, wrong())
	const took = "a spend has taken from grants of its user what it says 1"
	const back = "no more went back to a grant than was taken from it 1"
	for _, one := range []struct{ table, column, value, by, of, found string }{
		{"spend_part", "amount", "10", "11", "key = 'k1'", took},
		{"spend_part", "user_id", "'u'", "'u_1'", "key = 'k1'", took},
		{"spend_part", "amount", "-4", "-14", "key = 'k2' and entry = 'give_back'", back},
		{"spend", "amount", "20", "30", "key = 'h3'", took},
		{"spend", "state", "'spent'", "'refused'", "key = 'k2'", took},
	} {
		set := "update wallet." + one.table + " set " + one.column + " = %s where " + one.of
		v.execute(ctx, t, fmt.Sprintf(set, one.by))
		require.Equal(t, []string{one.found}, wrong(), one)
		v.execute(ctx, t, fmt.Sprintf(set, one.value))
	}
	require.Empty(t, wrong())
}

// A killed verify leaves its tables behind. The next one folds the whole log again.
func TestVerifyDoesNotContinueWithTheTablesOfAnEarlierOne(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 50)
	info, err := v.log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, v.scratch.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode))
	earlier := v.Rebuild(t, v.scratch, 0)
	require.NoError(t, earlier.Run(ctx, info.Last))
	v.execute(ctx, t, "update portal_verify.credits set balance = balance + 1, granted = granted + 1")
	verdict, err := v.verify(ctx, t)
	require.NoError(t, err)
	require.True(t, verdict.Holds(), "%+v", v.differences)
}

// The network goes silent after a statement, and so none is there to be cancelled.
func TestAnInterruptedVerifyEndsWhereTheDatabaseIsSilent(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 200)
	_, err := v.DB.Exec(ctx, "create table portal.not_ours (id int)")
	require.NoError(t, err)
	proxy, dsn := network.ToDatabase(t, v.DSN)
	tables, err := store.Open(ctx, store.Config{DSN: dsn, Owner: "verify"})
	require.NoError(t, err)
	defer tables.Close()
	defer proxy.Clear()
	interrupted, interrupt := context.WithCancel(ctx)
	one := verify.Verify{
		Log: v.log, Tables: tables, Rules: fixture.AnyMode, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {},
		Fault: func(verify.Fault) {}, Difference: func(verify.Difference) {},
		Definition: func(verify.DefinitionDifference) {
			if interrupted.Err() == nil {
				proxy.Disturb(t, network.Silence, network.ToServer, network.ToClient)
				interrupt()
			}
		},
	}
	ended := make(chan error, 1)
	go func() {
		_, err := one.Run(interrupted)
		ended <- err
	}()
	select {
	case err := <-ended:
		require.ErrorIs(t, err, context.Canceled)
	case <-time.After(wait.Timeout):
		require.Fail(t, "it still waits for the database")
	}
}

// One row of any table is changed in one column, missing or unexpected.
func TestEveryChangedMissingOrExtraRowIsFound(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 200)
	info, err := v.log.Info(ctx)
	require.NoError(t, err)
	require.NoError(t, v.scratch.Prepare(ctx, info.LogID, info.Partitions, fixture.AnyMode))
	rebuild := rebuild.Rebuild{Log: v.log, Store: v.scratch, Rules: fixture.AnyMode, Logger: testenv.Logger(t), Progress: func(_, _ uint64) {}}
	require.NoError(t, rebuild.Run(ctx, info.Last))
	for _, table := range []string{
		"processed_event", "duplicate_event", "credit_ledger", "reversal", "payment_facts", "subscription_facts", "subscription", "credits", "pro_license",
	} {
		t.Run(table, func(t *testing.T) {
			rows, err := v.DB.Query(ctx, `select column_name::text, data_type::text from information_schema.columns
				where table_schema = 'portal' and table_name = $1`, table)
			require.NoError(t, err)
			var column, dataType string
			changes := map[string]string{"missing": "delete from %s where ctid = (select min(ctid) from %[1]s)"}
			for rows.Next() {
				require.NoError(t, rows.Scan(&column, &dataType))
				changes[column] = "update %s set " + column + " = " + map[string]string{
					"text": column + " || '.'", "bigint": column + " + 1", "boolean": "not " + column,
					"timestamp with time zone": column + " + interval '1 microsecond'", "bytea": column + ` || '\x00'`,
				}[dataType] + " where ctid = (select min(ctid) from %[1]s where " + column + " is not null)"
			}
			require.NoError(t, rows.Err())
			for name, change := range changes {
				v.requireFound(ctx, t, table, name, fmt.Sprintf(change, "portal."+table))
			}
		})
	}
}

// requireFound makes a change on a copy of the table without constraints, requires that it
// is found, and takes it back.
func (v *verified) requireFound(ctx context.Context, t *testing.T, table, name, change string) {
	t.Helper()
	run := func(sql string) int64 {
		tag, err := v.DB.Exec(ctx, sql)
		require.NoError(t, err, sql)
		return tag.RowsAffected()
	}
	run("create table kept as table portal." + table)
	defer run("drop table kept")
	run("alter table portal." + table + " rename to original")
	run("create table portal." + table + " as table kept") // without any constraint
	if run(change) == 1 {                                  // a column that is null everywhere cannot be changed
		found := v.compare(ctx, t)
		require.Contains(t, []int{1, 2}, len(found), "%s %s: a changed key is an extra row and a missing one: %v", table, name, found)
		require.Equal(t, table, found[0].Table)
		if name == "missing" {
			require.Equal(t, verify.Missing, found[0].Fault)
		}
	}
	run("drop table portal." + table)
	run("alter table portal.original rename to " + table)
}

func (v *verified) compare(ctx context.Context, t *testing.T) (found []verify.Difference) {
	t.Helper()
	frozen, err := verify.Freeze(ctx, v.tables)
	require.NoError(t, err)
	defer frozen.Close()
	require.NoError(t, frozen.Compare(ctx, v.scratch, fixture.AnyMode, func(d verify.Difference) { found = append(found, d) }))
	return found
}

// whileFolded verifies, and calls hook when the log is folded and the tables are not frozen yet.
func (v *verified) whileFolded(ctx context.Context, t *testing.T, log rebuild.Log, hook func()) (verify.Verdict, error) {
	t.Helper()
	v.differences = nil
	var once sync.Once
	one := verify.Verify{
		Log: log, Tables: v.tables, Rules: fixture.AnyMode, Secrets: specification.Secrets(signedWith), Logger: testenv.Logger(t),
		Progress: func(position, until uint64) {
			if position > 0 && position == until {
				once.Do(hook)
			}
		},
		Fault:      func(verify.Fault) {},
		Difference: func(d verify.Difference) { v.differences = append(v.differences, d) },
		Definition: func(verify.DefinitionDifference) {},
	}
	return one.Run(ctx)
}

// applyMore lets a projector apply one more event.
func (v *verified) applyMore(ctx context.Context, t *testing.T, body string) {
	t.Helper()
	v.World.Log.Deliver(t, body)
	stop := v.Start(ctx, t, 100)
	v.WaitApplied(ctx, t)
	require.NoError(t, stop())
}

func TestAnEventThatIsRefusedWhileTheLogIsFoldedIsNoDifference(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 200)
	_, err := v.whileFolded(ctx, t, v.log, func() {
		v.execute(ctx, t, "alter table portal.credit_ledger add constraint unforeseen check (delta <> 1313)")
		v.applyMore(ctx, t, fixture.Pack("refused", "refused", "u_refused", 1313))
		v.execute(ctx, t, "alter table portal.credit_ledger drop constraint unforeseen")
	})
	require.NoError(t, err)
	require.EqualValues(t, 1, v.Number(ctx, t, "select count(*) from payfold.quarantined_event"))
	require.Empty(t, v.differences)
}

func TestTablesThatAreSetBackWhileTheLogIsFoldedAreNotCompared(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 200)
	_, err := v.whileFolded(ctx, t, v.log, func() {
		v.execute(ctx, t, "update portal.checkpoint set position = 0, position_digest = null")
	})
	require.ErrorContains(t, err, "the tables were set back from seq")
	require.Empty(t, v.differences)
}

func TestALogThatIsReplacedWhileItIsFoldedIsNotComparedWith(t *testing.T) {
	t.Parallel()
	ctx, v := setupVerifiedOf(t, 200)
	_, other := setupVerifiedOf(t, 300)
	log := &replacedLog{Log: v.log}
	_, err := v.whileFolded(ctx, t, log, func() {
		v.applyMore(ctx, t, fixture.Pack("more", "more", "u_more", 1))
		log.Log = other.log
	})
	require.ErrorIs(t, err, identity.ErrLogLost)
	require.Empty(t, v.differences)
}

// replacedLog is a log that can be replaced.
type replacedLog struct{ rebuild.Log }
