//go:build upgrade

package endtoend

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/ports"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// shop is an installation that is upgraded while it receives deliveries.
type shop struct {
	*world
	ingestAdmin string
	github      *testenv.GitHub
	load        *load
	buyers      int
}

// projector is a process of some build.
type projector struct {
	*testenv.Program
	ready string // the URL of /readyz
}

// TestAnUpgradeLosesAndRepeatsNothing follows docs/upgrading.md with the programs of earlier commits, and
// goes back.
func TestAnUpgradeLosesAndRepeatsNothing(t *testing.T) {
	for _, from := range upgradesFrom(t) {
		old, next := buildCommit(t, from.commit), thisBuild(t)
		if old.rules == next.rules {
			t.Run(from.commit+", the same rules", func(t *testing.T) { upgradeWithTheSameRules(t, openShop(t, old, from.log), old, next) })
			next = withOtherRules(t)
		}
		t.Run(from.commit+", new rules", func(t *testing.T) { upgradeWithNewRules(t, openShop(t, old, from.log), old, next) })
	}
}

func upgradeWithTheSameRules(t *testing.T, s *shop, old, next build) {
	first, second := s.startProjector(t, old), s.startProjector(t, old)
	s.awaitShares(t, 2)
	s.sell(t)

	s.replaceIngest(t, next)
	s.sell(t) // the old projectors read the log of the new ingest
	s.interruptRebuild(t, old)
	third := s.startProjector(t, next)
	s.awaitReady(t, third)
	s.awaitShares(t, 3)
	s.sell(t)
	stop(t, first.Program)
	s.promote(t, next, "rebuild", "--promote") // what the old build began
	s.awaitShares(t, 2)
	s.sell(t)
	fourth := s.startProjector(t, next)
	s.awaitReady(t, fourth)
	stop(t, second.Program)
	s.awaitShares(t, 2)
	s.sell(t)

	fifth := s.startProjector(t, old)
	s.awaitReady(t, fifth)
	stop(t, third.Program)
	stop(t, fourth.Program)
	s.replaceIngest(t, old)
	s.awaitShares(t, 1)
	s.sell(t)
	s.promote(t, old, "promote", "portal_prev")
	s.sell(t)

	s.replaceIngest(t, next)
	s.awaitReady(t, s.startProjector(t, next))
	s.awaitShares(t, 2)
	stop(t, fifth.Program)
	s.finish(t, next)
}

func upgradeWithNewRules(t *testing.T, s *shop, old, next build) {
	first, second := s.startProjector(t, old), s.startProjector(t, old)
	s.awaitShares(t, 2)
	s.sell(t)

	s.replaceIngest(t, next)
	s.interruptRebuild(t, old)
	third := s.startProjector(t, next)
	third.WaitFor(t, "projector rebuild --promote")
	s.awaitNotReady(t, third)
	s.awaitReady(t, first)
	s.awaitReady(t, second)
	s.awaitShares(t, 2)
	s.sell(t)
	refused := s.command(t, next, "rebuild", "--promote")
	require.Equal(t, 1, refused.Exit(t), refused.Output())
	require.Contains(t, refused.Output(), fmt.Sprintf(`schema portal_next was folded under "rules %s`, old.rules))
	require.Contains(t, refused.Output(), "projector drop portal_next")
	dropped := s.command(t, next, "drop", "portal_next")
	require.Zero(t, dropped.Exit(t), dropped.Output())

	s.promote(t, next, "rebuild", "--promote")
	for _, p := range []*projector{first, second} {
		p.WaitFor(t, "projector rebuild --promote")
		s.awaitNotReady(t, p)
	}
	s.awaitReady(t, third)
	s.awaitShares(t, 1)
	s.sell(t)

	s.replaceIngest(t, old)
	s.promote(t, old, "promote", "portal_prev")
	s.awaitReady(t, first)
	s.awaitReady(t, second)
	s.awaitNotReady(t, third)
	s.awaitShares(t, 2)
	s.sell(t)

	s.replaceIngest(t, next)
	s.promote(t, next, "promote", "portal_prev")
	s.awaitReady(t, third)
	stop(t, first.Program)
	stop(t, second.Program)
	s.awaitShares(t, 1)
	s.finish(t, next)
}

// openShop starts an ingest with an empty log, and deliveries.
func openShop(t *testing.T, b build, log string) *shop {
	t.Helper()
	s := &shop{
		world:  &world{dir: t.TempDir(), listen: ports.Free(t), provider: newProvider(t), database: testenv.Database(t)},
		github: testenv.NewGitHub(t, time.Now), ingestAdmin: ports.Free(t),
	}
	s.provider.URL = "http://" + s.listen + "/api/payments/provider/webhook"
	if log == "cluster" {
		s.cluster = testenv.NewNATS(t).URL
		created := b.start(t, "ingest", append(s.env(), "STREAM_REPLICAS=1"), "create-stream")
		require.Zero(t, created.Exit(t), created.Output())
	}
	s.startIngest(t, b)
	s.load = startLoad(t, s.world, slowPace)
	return s
}

func (s *shop) startIngest(t *testing.T, b build) {
	t.Helper()
	s.ingest = b.start(t, "ingest", append(s.env(), "ADMIN_ADDR="+s.ingestAdmin, "LISTEN_ADDR="+s.listen, "PROVIDER_WEBHOOK_SECRET="+secret, "PUBLISH_TIMEOUT=4500ms"))
	s.ingest.WaitFor(t, `msg="receiving deliveries"`)
}

// replaceIngest restarts ingest, like systemctl restart payfold-ingest.
func (s *shop) replaceIngest(t *testing.T, b build) {
	t.Helper()
	s.load.await(t, maxBetween)
	stop(t, s.ingest)
	s.startIngest(t, b)
	s.load.await(t, maxBetween)
}

func (s *shop) startProjector(t *testing.T, b build) *projector {
	t.Helper()
	admin := ports.Free(t)
	env := append(s.env(), inviting(s.github)...)
	return &projector{
		b.start(t, "projector", append(env, "DATABASE_URL="+s.database, "ADMIN_ADDR="+admin, shortLease)),
		"http://" + admin + "/readyz",
	}
}

func (s *shop) command(t *testing.T, b build, args ...string) *testenv.Program {
	t.Helper()
	return b.start(t, "projector", append(s.env(), "DATABASE_URL="+s.database, "PROVIDER_WEBHOOK_SECRET="+secret), args...)
}

// promote runs a command that promotes, again while the machine is busy.
func (s *shop) promote(t *testing.T, b build, args ...string) {
	t.Helper()
	testenv.Promote(t, func() *testenv.Program { return s.command(t, b, args...) })
}

// interruptRebuild leaves a candidate that a build has begun and not finished.
func (s *shop) interruptRebuild(t *testing.T, b build) {
	t.Helper()
	begun := s.command(t, b, "rebuild")
	require.Zero(t, begun.Exit(t), begun.Output())
	s.sell(t)
	holder, err := pgx.Connect(t.Context(), s.database)
	require.NoError(t, err)
	defer holder.Close(context.Background())
	_, err = holder.Exec(t.Context(), "begin; lock table portal_next.processed_event in share mode")
	require.NoError(t, err)
	interrupted := s.command(t, b, "rebuild")
	s.awaitBlocked(t)
	interrupted.Signal(syscall.SIGINT)
	require.Equal(t, 1, interrupted.Exit(t), interrupted.Output())
}

func (s *shop) awaitReady(t *testing.T, p *projector) { s.awaitStatus(t, p, http.StatusOK) }

func (s *shop) awaitNotReady(t *testing.T, p *projector) {
	s.awaitStatus(t, p, http.StatusServiceUnavailable)
}

func (s *shop) awaitStatus(t *testing.T, p *projector, status int) {
	t.Helper()
	wait.Until(t, func() bool {
		answer, err := http.Get(p.ready)
		if err != nil {
			return false // it does not listen yet
		}
		_ = answer.Body.Close()
		return answer.StatusCode == status
	}, "%s is not %d", p.ready, status)
}

// sell waits until a new buyer is invited, so all parts work.
func (s *shop) sell(t *testing.T) {
	t.Helper()
	s.load.await(t, maxBetween)
	s.buyers++
	user := fmt.Sprint("buyer_", s.buyers)
	s.deliver(t, licence("evt_"+user, "pay_"+user, user, user))
	s.awaitInvitation(t, user, "invited")
}

// finish ends the deliveries. Each acknowledged event is in the tables, once, and nobody was invited
// twice.
func (s *shop) finish(t *testing.T, b build) {
	t.Helper()
	s.sell(t)
	s.load.finish(t, s.world)
	for i := range s.buyers {
		name := fmt.Sprint("buyer_", i+1)
		require.Equal(t, 1, s.github.Sent(name), name)
		require.Zero(t, s.github.Repeated(name), name)
	}
	status := b.start(t, "ingest", append(s.env(), "ADMIN_ADDR="+s.ingestAdmin), "status")
	require.Zero(t, status.Exit(t), status.Output())
	tables := s.command(t, b, "status")
	require.Zero(t, tables.Exit(t), tables.Output())
	require.Regexp(t, fmt.Sprintf(`(?m)^ +portal .*rules %s, mode any( |$)`, b.rules), tables.Output())
	verified := s.command(t, b, "verify")
	require.Zero(t, verified.Exit(t), verified.Output())
	s.requireOneFold(t)
}
