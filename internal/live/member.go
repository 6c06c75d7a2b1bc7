package live

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/store"
)

// heartbeat renews the membership and takes free leases. It returns share, the partitions to work
// on from now on, and surplus, the partitions to release when the work on them has ended. The end
// of ctx does not cancel its statements: the database could execute a canceled statement later,
// after leave.
func (p *Projector) heartbeat(ctx context.Context, partitions int) (share, surplus []int, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	now, err := p.members.Heartbeat(ctx)
	if err != nil {
		return nil, nil, err
	}
	change := leaseChangesOf(p.owner, partitions, now)
	share = slices.Clone(change.held[:len(change.held)-len(change.surplus)])
	if len(change.free) > 0 {
		taken, err := p.members.TakeLeases(ctx, change.free)
		if err != nil {
			return nil, nil, err
		}
		share = append(share, taken...)
		slices.Sort(share)
	}
	return share, change.surplus, nil
}

func (p *Projector) release(ctx context.Context, partitions []int) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return p.members.ReleaseLeases(ctx, partitions)
}

// leave gives up the leases at once, also after ctx has ended. If it fails, the leases
// expire.
func (p *Projector) leave(ctx context.Context) {
	p.metrics.partitions.Set(0)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	if err := p.members.Leave(ctx); err != nil {
		p.Logger.DebugContext(ctx, "leases are left to expire", "error", err)
	}
}

// leaseChanges are the partitions that a member has, gives up and takes after a heartbeat.
type leaseChanges struct {
	held    []int // its leases, sorted, including the surplus
	surplus []int // the highest of held, to be released
	free    []int // without a lease, to be taken
}

// leaseChangesOf compares the leases of a member with its quota. It is a pure function of
// the heartbeat's result. The members may have any order that is the same for all of them.
func leaseChangesOf(self string, partitions int, now Membership) leaseChanges {
	var changes leaseChanges
	var free []int
	for partition := range partitions {
		switch now.Leases[partition] {
		case self:
			changes.held = append(changes.held, partition)
		case "":
			free = append(free, partition)
		}
	}
	place := slices.Index(now.Members, self)
	if place < 0 {
		changes.surplus = changes.held
		return changes
	}
	if want := quota(partitions, len(now.Members), place); len(changes.held) > want {
		changes.surplus = changes.held[want:]
	} else {
		changes.free = free[:min(len(free), want-len(changes.held))]
	}
	return changes
}

// quota is the number of partitions of one member, where place is its index in the list of
// members. Quotas differ by at most one, and their sum is partitions.
func quota(partitions, members, place int) int {
	share := partitions / members
	if place < partitions%members {
		share++
	}
	return share
}

// members is Members.
type members interface {
	Heartbeat(ctx context.Context) (Membership, error)
	TakeLeases(ctx context.Context, partitions []int) (taken []int, err error)
	ReleaseLeases(ctx context.Context, partitions []int) error
	Leave(ctx context.Context) error
}

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

// Members shares the partitions among the projectors of a database. The owner of the store is one of its members.
type Members struct{ Store *store.Store }

// Heartbeat renews this member and its leases, and evicts expired members. The first
// heartbeat makes the store's owner a member. All statements are one implicit transaction,
// sent at once, so a process that freezes cannot leave a transaction open.
//
// Leases make sharing efficient; the checkpoints make it safe. The result may be outdated
// when the call returns.
func (m Members) Heartbeat(ctx context.Context) (Membership, error) {
	s, now := m.Store, Membership{Leases: map[int]string{}}
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
func (m Members) TakeLeases(ctx context.Context, partitions []int) ([]int, error) {
	s := m.Store
	return store.Collect(ctx, s.Pool(), "take leases", pgx.RowTo[int], takeLeasesSQL, s.Owner(), s.LeaseTime(), partitions)
}

// ReleaseLeases gives up the leases of these partitions.
func (m Members) ReleaseLeases(ctx context.Context, partitions []int) error {
	_, err := m.Store.Pool().Exec(ctx, "delete from payfold.lease where owner = $1 and partition = any($2)", m.Store.Owner(), partitions)
	if err != nil {
		return fmt.Errorf("release leases: %w", err)
	}
	return nil
}

// Leave gives up all leases of this member and its membership.
func (m Members) Leave(ctx context.Context) error {
	batch := &pgx.Batch{}
	batch.Queue("delete from payfold.lease where owner = $1", m.Store.Owner())
	batch.Queue("delete from payfold.member where owner = $1", m.Store.Owner())
	if err := m.Store.Pool().SendBatch(ctx, batch).Close(); err != nil {
		return fmt.Errorf("leave: %w", err)
	}
	return nil
}
