package store

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

//go:embed bury_members.sql
var buryMembers string

//go:embed take_leases.sql
var takeLeases string

// applicationName is how Postgres lists a projector's sessions; its owner follows.
const applicationName = "payfold-projector "

// Standing is who shares the work at present, by the database's clock.
type Standing struct {
	Members []string       // sorted; among them this store's owner
	Leases  map[int]string // partition → owner, of the leases that have not expired
}

// HeartbeatEvery is how often a member must say that it lives.
func HeartbeatEvery(leaseTime time.Duration) time.Duration { return min(leaseTime/5, time.Second) }

// Heartbeat says that this member lives, renews its leases, and buries members
// that are gone. The first one joins. All of it is one implicit transaction,
// sent at once: a process that freezes cannot leave it half open.
//
// Leases make sharing efficient; the checkpoints make it safe. Whatever this
// says may be outdated when it returns.
func (s *Store) Heartbeat(ctx context.Context) (Standing, error) {
	now := Standing{Leases: map[int]string{}}
	batch := &pgx.Batch{}
	batch.Queue(`insert into payfold.member (owner, last_seen) values ($1, clock_timestamp())
		on conflict (owner) do update set last_seen = excluded.last_seen`, s.owner)
	batch.Queue("update payfold.lease set expires_at = clock_timestamp() + $2::interval where owner = $1", s.owner, s.leaseTime)
	batch.Queue(buryMembers, s.owner, applicationName, s.leaseTime, HeartbeatEvery(s.leaseTime))
	batch.Queue("select owner from payfold.member order by owner").Query(func(rows pgx.Rows) (err error) {
		now.Members, err = pgx.CollectRows(rows, pgx.RowTo[string])
		return err
	})
	batch.Queue("select partition, owner from payfold.lease where expires_at > clock_timestamp()").Query(func(rows pgx.Rows) error {
		var partition int
		var owner string
		_, err := pgx.ForEachRow(rows, []any{&partition, &owner}, func() error {
			now.Leases[partition] = owner
			return nil
		})
		return err
	})
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return Standing{}, fmt.Errorf("send a heartbeat: %w", err)
	}
	return now, nil
}

// Take takes those of the partitions that are free, and says which.
func (s *Store) Take(ctx context.Context, partitions []int) ([]int, error) {
	rows, err := s.pool.Query(ctx, takeLeases, s.owner, s.leaseTime, partitions)
	if err != nil {
		return nil, fmt.Errorf("take leases: %w", err)
	}
	taken, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return nil, fmt.Errorf("take leases: %w", err)
	}
	return taken, nil
}

// Release gives up leases, for others to take.
func (s *Store) Release(ctx context.Context, partitions []int) error {
	if _, err := s.pool.Exec(ctx, "delete from payfold.lease where owner = $1 and partition = any($2)", s.owner, partitions); err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

// Leave gives up all leases and the membership.
func (s *Store) Leave(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue("delete from payfold.lease where owner = $1", s.owner)
	batch.Queue("delete from payfold.member where owner = $1", s.owner)
	if err := s.pool.SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}
