package endtoend

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
)

// own runs a command of ingest that sends own events, without a terminal. It returns the output and the exit status.
func (w *world) own(t testing.TB, args ...string) (output string, status int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), testenv.Binary(t, "ingest"), append(args, "--url=http://"+w.listen)...)
	command.Env = append(append([]string{"PATH=" + os.Getenv("PATH"), "DATABASE_URL=" + w.database}, secrets...), w.env()...)
	command.WaitDelay = time.Minute
	out, err := command.CombinedOutput()
	var exited *exec.ExitError
	if err != nil {
		require.ErrorAs(t, err, &exited, "%v", args)
		status = exited.ExitCode()
	}
	return string(out), status
}

func setupOwn(t *testing.T) *world {
	w := setup(t, "PAYFOLD_EVENT_SECRET="+secret)
	w.startProjector(t)
	w.deliver(t, `{"id":"evt_1","eventType":"checkout.completed","object":{"order":{"id":"ord_1","transaction":"tran_1","amount_paid":1000,"currency":"EUR"},"metadata":{"kind":"one_time","user_id":"u_1","credits":200}}}`)
	w.awaitProjected(t)
	return w
}

func (w *world) balance(t testing.TB, user string) int64 {
	w.awaitProjected(t)
	return mustQuery[int64](t, w.database, "select coalesce(sum(balance), 0)::bigint from portal.credit_balance where user_id = $1", user)
}

func TestNothingIsSentIfNobodyCanBeAsked(t *testing.T) {
	t.Parallel()
	w := setupOwn(t)
	output, status := w.own(t, "give", "--user=u_1", "--credits=50", "--reason=thanks")
	require.Equal(t, 1, status)
	require.Contains(t, output, "Give user u_1: 50 credits that never expire.")
	require.Contains(t, output, "nothing was sent: standard input is no terminal, so nobody can be asked; --yes sends without asking")
	require.EqualValues(t, 1, w.head(t))
}

func TestTheSameCommandGivesOnceUnlessItSaysSo(t *testing.T) {
	t.Parallel()
	w := setupOwn(t)
	give := []string{"give", "--yes", "--user=u_1", "--credits=50", "--reason=thanks"}
	for range 2 {
		_, status := w.own(t, give...)
		require.Zero(t, status)
	}
	require.EqualValues(t, 250, w.balance(t, "u_1"))
	database := w.database
	w.database = "postgres://nobody@127.0.0.1:1/none" // the answer is lost, and nobody can look
	output, status := w.own(t, give...)
	require.Zero(t, status, output)
	require.Contains(t, output, "The same event was sent before, so this changes nothing.")
	require.Regexp(t, `projector explain give-\w+`, output)
	w.database = database
	require.EqualValues(t, 250, w.balance(t, "u_1"))
	_, status = w.own(t, append(give, "--id=thanks-again")...)
	require.Zero(t, status)
	require.EqualValues(t, 300, w.balance(t, "u_1"))
}

func TestCreditsAreTakenFromTheRightUserAndNeverMoreThanThereAre(t *testing.T) {
	t.Parallel()
	w := setupOwn(t)
	_, status := w.own(t, "give", "--yes", "--user=u_2", "--credits=5", "--reason=hello")
	require.Zero(t, status)
	w.awaitProjected(t)
	for _, user := range []string{"u_2", "u_unknown"} {
		output, status := w.own(t, "take", "--yes", "--user="+user, "--payment=tran_1", "--credits=30", "--reason=mistake")
		require.Equal(t, 3, status, output)
		require.Contains(t, output, "nothing was sent: user "+user+" has no payment with the transaction tran_1")
	}
	wrong, status := w.own(t, "take", "--yes", "--user=u_1", "--payment=ord_1", "--credits=30", "--reason=mistake")
	require.Equal(t, 3, status)
	require.Contains(t, wrong, "it is an order if --order is given")
	require.EqualValues(t, 200, w.balance(t, "u_1"))
	output, status := w.own(t, "take", "--yes", "--user=u_1", "--payment=tran_1", "--credits=30", "--reason=mistake")
	require.Zero(t, status, output)
	require.EqualValues(t, 170, w.balance(t, "u_1"))
	_, status = w.own(t, "take", "--yes", "--user=u_1", "--payment=ord_1", "--order", "--credits=500", "--reason=fraud")
	require.Zero(t, status)
	require.Zero(t, w.balance(t, "u_1"))
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from portal.payment where refunded_amount is not null"), "no money went back")
	_, status = w.own(t, "take", "--yes", "--user=u_1", "--payment=tran_1", "--all", "--reason=refunded in cash")
	require.Zero(t, status)
	require.Zero(t, w.balance(t, "u_1"))
	require.EqualValues(t, 1000, mustQuery[int64](t, w.database, "select refunded_amount from portal.payment where transaction_id = 'tran_1'"))
}

func TestARejectedCommandSaysWhyAndEndsWithNo(t *testing.T) {
	t.Parallel()
	w := setupOwn(t)
	output, status := w.own(t, "complete", "tran_1", "--yes", "--user=u_2", "--reason=she says so")
	require.Equal(t, 3, status, output)
	require.Contains(t, output, "payment_conflict")
	output, status = w.own(t, "extend", "--yes", "--user=u_1", "--subscription=sub_1", "--until=2099-01-01", "--reason=x")
	require.Equal(t, 3, status, output)
	require.Contains(t, output, "nothing was sent: user u_1 has no subscription sub_1")
	require.EqualValues(t, 200, w.balance(t, "u_1"))
}

func TestAPaymentThatWaitsIsCompletedByItsOrder(t *testing.T) {
	t.Parallel()
	w := setupOwn(t)
	w.deliver(t, `{"id":"evt_2","eventType":"checkout.completed","object":{"order":"ord_2","metadata":{"kind":"one_time","credits":70}}}`)
	output, status := w.own(t, "complete", "ord_2", "--order", "--yes", "--user=u_2", "--reason=ticket 9")
	require.Zero(t, status, output)
	require.EqualValues(t, 70, w.balance(t, "u_2"))
}

// An import of ten thousand lines: one bad line sends nothing, and a second import of the good file gives nothing twice.
func TestTenThousandLinesAreImportedOnce(t *testing.T) {
	t.Parallel()
	const lines = 10_000
	w := setupOwn(t)
	file := filepath.Join(t.TempDir(), "buyers.csv")
	write := func(bad int) {
		var text bytes.Buffer
		text.WriteString("\ufeffwhat,user,credits\r\n")
		for i := range lines {
			credits := fmt.Sprint(i%7 + 1)
			if i == bad {
				credits = "-5"
			}
			fmt.Fprintf(&text, "balance,\"u %d\",%s\r\n", i, credits)
		}
		require.NoError(t, os.WriteFile(file, text.Bytes(), 0o600))
	}
	write(4_000)
	for _, more := range []string{"--yes", "--dry-run"} {
		output, status := w.own(t, "import", file, "--exported=2026-03-01", more)
		require.Equal(t, 1, status)
		require.Equal(t, file+": line 4002: credits is -5, must be 1 to 1000000000000\ningest: nothing was sent: 1 fault\n", output)
	}
	write(-1)
	output, status := w.own(t, "import", file, "--exported=2026-03-01", "--dry-run")
	require.Zero(t, status, output)
	require.EqualValues(t, 1, w.head(t), "nothing was sent")
	for range 2 {
		output, status = w.own(t, "import", file, "--exported=2026-03-01", "--yes")
		require.Zero(t, status, output)
		require.Contains(t, output, "sent: 10,000 of 10,000 lines")
		w.awaitProjected(t)
	}
	sum := int64(0)
	for i := range lines {
		sum += int64(i%7 + 1)
	}
	require.Equal(t, sum, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits where user_id like 'u %'"))
	require.EqualValues(t, lines, mustQuery[int64](t, w.database, "select count(*) from portal.credits where user_id like 'u %'"))
	require.Zero(t, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event where outcome <> 'applied'"))
}

// An import that is killed at any moment, and run again, gives each balance once.
func TestAnImportThatIsKilledCanBeRunAgain(t *testing.T) {
	t.Parallel()
	w := setupOwn(t)
	var text strings.Builder
	text.WriteString("what,user,credits\n")
	for i := range 3_000 {
		fmt.Fprintf(&text, "balance,v%d,3\n", i)
	}
	file := filepath.Join(t.TempDir(), "buyers.csv")
	require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o600))
	command := exec.Command(testenv.Binary(t, "ingest"), "import", file, "--exported=2026-03-01", "--yes", "--url=http://"+w.listen)
	command.Env = append(append([]string{}, secrets...), w.env()...)
	require.NoError(t, command.Start())
	before := w.head(t)
	for w.head(t) <= before { // it has begun
		require.NoError(t, t.Context().Err())
	}
	require.NoError(t, command.Process.Kill())
	var exited *exec.ExitError
	require.True(t, errors.As(command.Wait(), &exited) || w.head(t) > 3_000)
	output, status := w.own(t, "import", file, "--exported=2026-03-01", "--yes")
	require.Zero(t, status, output)
	w.awaitProjected(t)
	require.EqualValues(t, 9_000, mustQuery[int64](t, w.database, "select sum(balance)::bigint from portal.credits where user_id like 'v%'"))
}
