package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// licensesChanged is the channel of the database on which a batch that changed
// purchases of licences names their users, when it commits: a list in JSON, or nothing where
// they are too many.
const licensesChanged = "payfold_licenses"

const notifyLicenses = "select pg_notify('" + licensesChanged + "', $1)"

// maxNotification is what Postgres takes.
const maxNotification = 7999

func namesOf(users []string) string {
	text, err := json.Marshal(users)
	if err != nil || len(text) > maxNotification {
		return ""
	}
	return string(text)
}

const (
	// inviterTry is how soon another process takes over from one that is gone.
	inviterTry = time.Second
	// inviterIdle is when Postgres ends the session of a process that froze.
	inviterIdle = 15 * time.Second
	// listenFor is how often a process shows meanwhile that it lives.
	listenFor = 3 * time.Second
	// inviterCall bounds every question on that session.
	inviterCall = 3 * time.Second
)

// HoldInviter waits until no other process invites to the repository, then
// calls work, with a channel of the users whose purchases change (nil: any). Work's context ends
// when the right is lost. HoldInviter returns what work returned, or why the
// session ended.
//
// The right only keeps processes from doing each other's work: what two of them
// ask GitHub at once is settled by ReserveAttempt.
func (s *Store) HoldInviter(ctx context.Context, repository string, work func(ctx context.Context, changed <-chan []string) error) error {
	session, err := pgx.ConnectConfig(ctx, inviterSession(s))
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), inviterCall)
		defer cancel()
		_ = session.Close(ctx)
	}()
	if err := becomeInviter(ctx, session, repository); err != nil {
		return err
	}
	changed := make(chan []string, 100)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return listen(ctx, session, changed, listenFor) })
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

// inviterSession is a session of its own: the pool's are lent to one call each.
func inviterSession(s *Store) *pgx.ConnConfig {
	config := s.pool.Config().ConnConfig
	config.RuntimeParams["idle_session_timeout"] = milliseconds(inviterIdle)
	return config
}

var errWorkDone = errors.New("the work is done")

func becomeInviter(ctx context.Context, session *pgx.Conn, repository string) error {
	ticker := time.NewTicker(inviterTry)
	defer ticker.Stop()
	for {
		var mine bool
		err := onSession(ctx, func(ctx context.Context) error {
			return session.QueryRow(ctx, "select pg_try_advisory_lock($1, hashtext($2))", inviterLock+1, repository).Scan(&mine)
		})
		if err != nil {
			return fmt.Errorf("become the inviter: %w", err)
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
		_, err := session.Exec(ctx, "listen "+licensesChanged)
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
			var users []string
			if json.Unmarshal([]byte(heard.Payload), &users) != nil {
				users = nil
			}
			select {
			case changed <- users:
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
	ctx, cancel := context.WithTimeout(ctx, inviterCall)
	defer cancel()
	return ask(ctx)
}
