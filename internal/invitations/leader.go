package invitations

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/store"
)

const (
	// electionInterval is how often a process tries to become the leader.
	electionInterval = time.Second
	// leaderTimeout is how long a leader may freeze until Postgres ends its session.
	leaderTimeout = 15 * time.Second
	// leaderHeartbeat is how often the leader sends a query, so that its session is not idle.
	leaderHeartbeat = 3 * time.Second
	// leaderCallTimeout bounds every statement on the leader's session.
	leaderCallTimeout = 3 * time.Second
)

// lead waits until this process is the leader for the repository, then calls work with
// a channel of the users whose purchases change (nil: any user). The context of work ends
// when the leadership is lost; work returns an error, or after its context has ended. lead
// returns the error of work, or why the session ended.
//
// Leadership only saves work. Two leaders at once would do no harm, because reserve gives
// each attempt to one of them.
func (r records) lead(ctx context.Context, repository string, work func(ctx context.Context, changed <-chan []string) error) error {
	session, err := pgx.ConnectConfig(ctx, r.tables.LeaderConfig(leaderTimeout))
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
	group.Go(func() error { return work(ctx, changed) })
	return group.Wait()
}

func becomeLeader(ctx context.Context, session *pgx.Conn, repository string) error {
	retry := backoff.Every(electionInterval)
	for {
		var elected bool
		err := onSession(ctx, func(ctx context.Context) error {
			return session.QueryRow(ctx, "select pg_try_advisory_lock($1, hashtext($2))", store.LeaderLock, repository).Scan(&elected)
		})
		if err != nil {
			return fmt.Errorf("become the leader: %w", err)
		}
		if elected {
			break
		}
		if err := retry.Wait(ctx); err != nil {
			return err
		}
	}
	return onSession(ctx, func(ctx context.Context) error {
		_, err := session.Exec(ctx, "listen "+store.LicensesChanged)
		return err
	})
}

// listen sends the users of each notification to changed, until ctx ends or the session
// does. It never blocks on a full channel, because it must send a heartbeat in time.
// Notifications do not replace heartbeats: for Postgres, a session that only receives
// them is idle.
func listen(ctx context.Context, session *pgx.Conn, changed chan []string, heartbeat time.Duration) error {
	for last := time.Now(); ; {
		waiting, cancel := context.WithDeadline(ctx, last.Add(heartbeat))
		notification, err := session.WaitForNotification(waiting)
		cancel()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil:
			select {
			case changed <- store.UsersIn(notification.Payload):
			default: // the channel is full: replace one entry by "any user"
				select {
				case <-changed:
				default:
				}
				changed <- nil // does not block: this is the only sender
			}
		case waiting.Err() == nil:
			return fmt.Errorf("listen for changed purchases: %w", err)
		default:
			if err := onSession(ctx, session.Ping); err != nil {
				return fmt.Errorf("listen for changed purchases: %w", err)
			}
			last = time.Now()
		}
	}
}

func onSession(ctx context.Context, call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, leaderCallTimeout)
	defer cancel()
	return call(ctx)
}
