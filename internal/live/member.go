package live

import (
	"context"
	_ "embed"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

//go:embed evict_members.sql
var evictMembersSQL string

//go:embed take_leases.sql
var takeLeasesSQL string

// Membership is the members and their leases at one moment of the database's clock.
type Membership struct {
	Members []string       // in byte order, whatever the database's collation; this store's owner is one of them
	Leases  map[int]string // partition → owner; without expired leases
}

// heartbeatInterval is how often a member must send a heartbeat.
func heartbeatInterval(leaseTime time.Duration) time.Duration { return min(leaseTime/5, time.Second) }

// Heartbeat renews this member and its leases, and evicts expired members. The first
// heartbeat makes the store's owner a member. All statements are one implicit transaction,
// sent at once, so a process that freezes cannot leave a transaction open.
//
// Leases make sharing efficient; the checkpoints make it safe. The result may be outdated
// when the call returns.
func Heartbeat(ctx context.Context, s *store.Store) (Membership, error) {
	now := Membership{Leases: map[int]string{}}
	batch := &pgx.Batch{}
	batch.Queue(`insert into payfold.member (owner, last_seen) values ($1, clock_timestamp())
		on conflict (owner) do update set last_seen = excluded.last_seen`, s.Owner())
	batch.Queue("update payfold.lease set expires_at = clock_timestamp() + $2::interval where owner = $1", s.Owner(), s.LeaseTime())
	batch.Queue(evictMembersSQL, s.Owner(), store.ApplicationName, s.LeaseTime(), heartbeatInterval(s.LeaseTime()))
	batch.Queue(`select owner from payfold.member order by owner collate "C"`).Query(func(rows pgx.Rows) (err error) {
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
		return Membership{}, fmt.Errorf("send a heartbeat: %w", err)
	}
	return now, nil
}

// TakeLeases takes the leases of those partitions that are free, and returns them.
func TakeLeases(ctx context.Context, s *store.Store, partitions []int) ([]int, error) {
	return store.Collect(ctx, s.Pool(), "take leases", pgx.RowTo[int], takeLeasesSQL, s.Owner(), s.LeaseTime(), partitions)
}

// releaseLeases gives up the leases of these partitions.
func releaseLeases(ctx context.Context, s *store.Store, partitions []int) error {
	if _, err := s.Pool().Exec(ctx, "delete from payfold.lease where owner = $1 and partition = any($2)", s.Owner(), partitions); err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

// leave gives up all leases of this member and its membership.
func leave(ctx context.Context, s *store.Store) error {
	batch := &pgx.Batch{}
	batch.Queue("delete from payfold.lease where owner = $1", s.Owner())
	batch.Queue("delete from payfold.member where owner = $1", s.Owner())
	if err := s.Pool().SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}
