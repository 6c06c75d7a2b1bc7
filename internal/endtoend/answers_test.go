package endtoend

import (
	"encoding/json"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// runWithExit runs a command of the projector that must end with this exit status. It
// returns what the command wrote to stdout and stderr.
func (w *world) runWithExit(t *testing.T, code int, args ...string) string {
	t.Helper()
	program := testenv.Start(t, "projector", append(w.env(), "DATABASE_URL="+w.database), args...)
	require.Equal(t, code, program.Exit(t), program.Output())
	return program.Output()
}

// statusJSON has some of the fields of status --json.
type statusJSON struct {
	Log *struct {
		Head uint64
	}
	LogFault string `json:"log_fault"`
	Database *struct {
		Members []struct {
			Owner      string
			Partitions int
		}
		Outcomes []struct {
			Outcome string
			Events  int64
		}
		Duplicates int64
	}
	DatabaseFault string `json:"database_fault"`
	Lag           *struct {
		Events uint64
	}
	Partitions []struct {
		Position uint64
		Owner    string
		Waiting  *uint64
	}
}

func (w *world) status(t *testing.T, code int) (out statusJSON) {
	t.Helper()
	text := w.runWithExit(t, code, "status", "--json")
	require.Equal(t, 1, strings.Count(text, "\n"), "one object and no log line: %s", text)
	require.NoError(t, json.Unmarshal([]byte(text), &out), text)
	return out
}

func TestStatusShowsTwoProjectorsAndWhatCannotBeReached(t *testing.T) {
	t.Parallel()
	w := setup(t)
	require.Contains(t, w.runWithExit(t, 0, "status"), "a projector makes them when it starts")

	first, second := w.startProjector(t, shortLease), w.startProjector(t, shortLease)
	w.awaitShares(t, 2)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 200), pack("evt_2", "pay_1", "u_1", 200), pack("evt_3", "pay_3", "u_3", 1))
	w.awaitProjected(t)

	var status statusJSON
	wait.Until(t, func() bool { // a projector of a busy machine may lose its lease for a moment
		status = w.status(t, 0)
		return len(status.Database.Members) == 2 && status.Database.Members[0].Partitions == 32 && status.Database.Members[1].Partitions == 32
	}, "two projectors do not share the partitions")
	require.EqualValues(t, 3, status.Log.Head)
	require.Zero(t, status.Lag.Events)
	require.Len(t, status.Partitions, 64)
	owned := map[string]int{}
	for _, p := range status.Partitions {
		require.EqualValues(t, 3, p.Position)
		owned[p.Owner]++
	}
	for _, m := range status.Database.Members {
		require.Equal(t, 32, owned[m.Owner])
	}
	require.Contains(t, w.runWithExit(t, 0, "status"), "every message of the log is applied")

	stop(t, first)
	stop(t, second)
	w.deliver(t, pack("evt_4", "pay_4", "u_1", 1), pack("evt_5", "pay_5", "u_1", 1))
	status = w.status(t, 0)
	require.EqualValues(t, 2, status.Lag.Events)
	require.Empty(t, status.Database.Members)
	require.Contains(t, w.runWithExit(t, 0, "status"), "2 events, the oldest received")
	require.Contains(t, w.runWithExit(t, 0, "explain", "--seq", "4"), "evt_4: not applied yet")
	require.Contains(t, w.runWithExit(t, 3, "explain", "evt_4"), "the log ends at seq 5")

	withoutDatabase := *w
	withoutDatabase.database = "postgres://127.0.0.1:1/payfold?sslmode=disable"
	status = withoutDatabase.status(t, 1)
	require.EqualValues(t, 5, status.Log.Head)
	require.Nil(t, status.Database)
	require.Contains(t, status.DatabaseFault, "the database does not answer")
	require.Contains(t, withoutDatabase.runWithExit(t, 1, "explain", "evt_1"), "the database does not answer")

	stop(t, w.ingest)
	status = w.status(t, 0)
	require.Nil(t, status.Log)
	require.NotEmpty(t, status.LogFault)
	require.Nil(t, status.Partitions[0].Waiting)
	require.Len(t, status.Database.Outcomes, 2)
	require.Contains(t, w.runWithExit(t, 0, "explain", "evt_1"), "It granted 200 credits.", "the log is not needed")
	require.Contains(t, w.runWithExit(t, 1, "explain", "--seq", "4"), "not connected to the log: is ingest running on DATA_DIR "+w.dir)

	server, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	accepted := make(chan int, 1)
	go func() {
		connections := 0
		for {
			if _, err := server.Accept(); err != nil {
				accepted <- connections
				return
			}
			connections++
		}
	}()
	explained := w.runWithExit(t, 0, "explain", "--user", "u_1", "--nats-url=nats://"+server.Addr().String())
	require.Contains(t, explained, "Can spend 200 credits now")
	require.NoError(t, server.Close())
	require.Zero(t, <-accepted, "what a user has is in the tables alone")
}

func TestExplainAnswersWithTheRealPrograms(t *testing.T) {
	t.Parallel()
	w := setup(t)
	w.startProjector(t)
	w.deliver(t, pack("evt_1", "pay_1", "u_1", 200), pack("evt_2", "pay_1", "u_1", 200),
		`{"id":"evil \u001b[2J","eventType":"checkout.completed","object":{"provider_payment_id":"p\u009b2J","metadata":{"kind":"one_time","user_id":"u\u001b[2J","credits":1}}}`,
		`{"id":"evt_4","eventType":"checkout.completed","object":{"provider_payment_id":"pay_4","metadata":{"kind":"one_time","credits":1}}}`)
	w.awaitProjected(t)

	require.Contains(t, w.runWithExit(t, 0, "explain", "evt_2"), "The same payment again: evt_1 (seq 1) told of it before")
	require.Contains(t, w.runWithExit(t, 0, "explain", "evt_4"), "Nothing says who bought it")
	require.Contains(t, w.runWithExit(t, 0, "explain", "--user", "u_1"), "Can spend 200 credits now")
	for _, args := range [][]string{{"explain", "evil \x1b[2J"}, {"explain", "--user", "u\x1b[2J"}, {"explain", "--seq", "3"}} {
		for _, form := range [][]string{nil, {"--json"}} {
			out := w.runWithExit(t, 0, append(args, form...)...)
			require.NotContains(t, out, "\x1b")
			require.NotContains(t, out, "\u009b")
		}
	}
	var explained struct {
		Event struct {
			EventID   string `json:"event_id"`
			StreamSeq int64  `json:"stream_seq"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(w.runWithExit(t, 0, "explain", "--json", "evt_2")), &explained))
	require.Equal(t, "evt_2", explained.Event.EventID)
	require.EqualValues(t, 2, explained.Event.StreamSeq)

	require.Contains(t, w.runWithExit(t, 3, "explain", "evt_9"), "no event evt_9 is in the tables")
	require.Contains(t, w.runWithExit(t, 3, "explain", "--user", "u\x1b9"), `no event and no table names user "u\x1b9"`)
	require.Contains(t, w.runWithExit(t, 3, "explain", "--seq", "9"), "the log has no message at seq 9: it ends at seq 4")
	require.Contains(t, w.runWithExit(t, 2, "explain"), "one of EVENT_ID, --seq and --user")
	require.Contains(t, w.runWithExit(t, 2, "explain", "evt_1", "--user", "u_1", "--limit", "0"), "--limit is 0")

	fresh := *w
	fresh.dir = t.TempDir()
	for _, command := range []string{"status", "explain evt_1", "promote portal_next", "drop portal_next", "adopt-log", "verify", "invitations"} {
		program := testenv.Start(t, "projector", append(fresh.env(), "PROVIDER_WEBHOOK_SECRET="+secret), strings.Fields(command)...)
		require.Equal(t, 1, program.Exit(t), "%s makes no private Postgres: %s", command, program.Output())
		require.Contains(t, program.Output(), "there is no database in", command)
	}

	fresh = *w
	fresh.database = testenv.Database(t)
	const none, noSchema = "the database has no tables of payfold yet", "there is no such schema: "
	for command, says := range map[string]string{
		"adopt-log": none, "verify": none, "verify --schema portal_next": noSchema + "portal_next",
		"promote portal_next": noSchema + "portal_next", "drop portal_next": noSchema + "portal_next",
		"invitations": none, "invitations retry u_1": none,
		"console --console-addr 127.0.0.1:0": "is a superuser",
	} {
		fresh.requireRefused(t, says, strings.Fields(command)...)
	}
}
