package live

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

//go:embed bury_members.sql
var buryMembers string

//go:embed take_leases.sql
var takeLeases string

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
func Heartbeat(ctx context.Context, s *store.Store) (Standing, error) {
	now := Standing{Leases: map[int]string{}}
	batch := &pgx.Batch{}
	batch.Queue(`insert into payfold.member (owner, last_seen) values ($1, clock_timestamp())
		on conflict (owner) do update set last_seen = excluded.last_seen`, s.Owner())
	batch.Queue("update payfold.lease set expires_at = clock_timestamp() + $2::interval where owner = $1", s.Owner(), s.LeaseTime())
	batch.Queue(buryMembers, s.Owner(), store.ApplicationName, s.LeaseTime(), HeartbeatEvery(s.LeaseTime()))
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
	if err := s.Pool().SendBatch(ctx, batch).Close(); err != nil {
		return Standing{}, fmt.Errorf("send a heartbeat: %w", err)
	}
	return now, nil
}

// TakeLeases takes those of the partitions that are free, and says which.
func TakeLeases(ctx context.Context, s *store.Store, partitions []int) ([]int, error) {
	rows, err := s.Pool().Query(ctx, takeLeases, s.Owner(), s.LeaseTime(), partitions)
	if err != nil {
		return nil, fmt.Errorf("take leases: %w", err)
	}
	taken, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		return nil, fmt.Errorf("take leases: %w", err)
	}
	return taken, nil
}

// ReleaseLeases gives up leases, for others to take.
func ReleaseLeases(ctx context.Context, s *store.Store, partitions []int) error {
	if _, err := s.Pool().Exec(ctx, "delete from payfold.lease where owner = $1 and partition = any($2)", s.Owner(), partitions); err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

// Leave gives up all leases and the membership.
func Leave(ctx context.Context, s *store.Store) error {
	batch := &pgx.Batch{}
	batch.Queue("delete from payfold.lease where owner = $1", s.Owner())
	batch.Queue("delete from payfold.member where owner = $1", s.Owner())
	if err := s.Pool().SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}
