package invitations

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/store"
)

const (
	// electionInterval is how often a process tries to become the leader.
	electionInterval = time.Second
	// leaderTimeout is when Postgres ends the session of a leader that froze.
	leaderTimeout = 15 * time.Second
	// leaderHeartbeat is how often the leader shows that it lives.
	leaderHeartbeat = 3 * time.Second
	// leaderCallTimeout bounds every statement on the leader's session.
	leaderCallTimeout = 3 * time.Second
)

// lead waits until this process is the leader for the repository, then calls work, with
// a channel of the users whose purchases change (nil: any). Work's context ends when
// the leadership is lost. lead returns what work returned, or why the session ended.
//
// Leadership only keeps processes from doing each other's work: reserve settles what
// two of them ask GitHub at once.
func (r records) lead(ctx context.Context, repository string, work func(ctx context.Context, changed <-chan []string) error) error {
	session, err := pgx.ConnectConfig(ctx, leaderSession(r.tables))
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaderCallTimeout)
		defer cancel()
		_ = session.Close(ctx)
	}()
	if err := becomeLeader(ctx, session, repository); err != nil {
		return err
	}
	changed := make(chan []string, 100)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return listen(ctx, session, changed, leaderHeartbeat) })
	group.Go(func() error {
		if err := work(ctx, changed); err != nil {
			return err
		}
		return errWorkDone
	})
	if err := group.Wait(); !errors.Is(err, errWorkDone) {
		return err
	}
	return nil
}

// leaderSession is a session of its own: the pool's are lent to one call each.
func leaderSession(tables *store.Store) *pgx.ConnConfig {
	config := tables.Pool().Config().ConnConfig
	config.RuntimeParams["idle_session_timeout"] = strconv.FormatInt(leaderTimeout.Milliseconds(), 10)
	return config
}

var errWorkDone = errors.New("the work is done")

func becomeLeader(ctx context.Context, session *pgx.Conn, repository string) error {
	ticker := time.NewTicker(electionInterval)
	defer ticker.Stop()
	for {
		var mine bool
		err := onSession(ctx, func(ctx context.Context) error {
			return session.QueryRow(ctx, "select pg_try_advisory_lock($1, hashtext($2))", store.LeaderLock, repository).Scan(&mine)
		})
		if err != nil {
			return fmt.Errorf("become the leader: %w", err)
		}
		if mine {
			break
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
	return onSession(ctx, func(ctx context.Context) error {
		_, err := session.Exec(ctx, "listen "+store.LicensesChanged)
		return err
	})
}

// listen tells of changed purchases until ctx ends or the session does. It never
// waits for who takes them: the session must show that often that it lives. What it
// hears is no sign of that.
func listen(ctx context.Context, session *pgx.Conn, changed chan []string, often time.Duration) error {
	for asked := time.Now(); ; {
		waiting, cancel := context.WithDeadline(ctx, asked.Add(often))
		heard, err := session.WaitForNotification(waiting)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			select {
			case changed <- store.LicensesIn(heard.Payload):
			default: // too many wait: it may be anybody
				select {
				case <-changed:
				default:
				}
				changed <- nil // there is room: nobody else sends
			}
		case waiting.Err() == nil:
			return fmt.Errorf("listen for changed purchases: %w", err)
		default: // time to show that this process lives, and to see that the session does
			if err := onSession(ctx, session.Ping); err != nil {
				return fmt.Errorf("listen for changed purchases: %w", err)
			}
			asked = time.Now()
		}
	}
}

func onSession(ctx context.Context, ask func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, leaderCallTimeout)
	defer cancel()
	return ask(ctx)
}
