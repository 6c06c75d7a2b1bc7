package live

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/store"
)

// model is the members, the leases, the checkpoints and the rows in memory. Its methods mean what the statements of member.go mean.
// TestTheModelOfLeasesDoesWhatPostgresDoes compares both.
type model struct {
	leaseTime   time.Duration
	members     map[string]time.Time // owner → last heartbeat
	leases      map[int]lease        // by partition
	tables      store.TablesID       // that are live
	rowsID      int                  // changes as store.RowsID does
	checkpoints []store.Checkpoint   // by partition
	applied     map[uint64]string    // owner by the sequence of a message
	rows        map[uint64]row       // by customer
}

// row is what the tables have of a customer.
type row struct{ events, settled int }

const customers = 3

func customerOf(seq uint64) uint64 { return seq % customers }

type lease struct {
	owner   string
	expires time.Time
}

func newModel(leaseTime time.Duration, partitions int, logID string) *model {
	m := &model{
		leaseTime: leaseTime, members: map[string]time.Time{}, leases: map[int]lease{}, applied: map[uint64]string{},
		rows: map[uint64]row{},
	}
	for partition := range partitions {
		m.checkpoints = append(m.checkpoints, store.Checkpoint{Partition: partition, LogID: logID})
	}
	return m
}

func (m *model) clone() *model {
	return &model{
		leaseTime: m.leaseTime, members: maps.Clone(m.members), leases: maps.Clone(m.leases),
		tables: m.tables, rowsID: m.rowsID, checkpoints: slices.Clone(m.checkpoints), applied: maps.Clone(m.applied),
		rows: maps.Clone(m.rows),
	}
}

// heartbeat is Heartbeat at a time of the database's clock. connected says whether an owner has a session. It returns the
// members that were evicted; their sessions end.
func (m *model) heartbeat(owner string, now time.Time, connected func(owner string) bool) (seen Membership, evicted []string) {
	m.members[owner] = now
	for partition, one := range m.leases {
		if one.owner == owner {
			m.leases[partition] = lease{owner, now.Add(m.leaseTime)}
		}
	}
	for other, last := range m.members {
		silent := last.Before(now.Add(-m.leaseTime))
		lost := last.Before(now.Add(-3*heartbeatInterval(m.leaseTime))) || last.After(now.Add(m.leaseTime))
		if other != owner && (silent || lost && !connected(other)) {
			evicted = append(evicted, other)
		}
	}
	slices.Sort(evicted)
	for _, other := range evicted {
		m.leave(other)
	}
	seen = Membership{Members: slices.Sorted(maps.Keys(m.members)), Leases: map[int]string{}}
	for partition, one := range m.leases {
		if one.expires.After(now) {
			seen.Leases[partition] = one.owner
		}
	}
	return seen, evicted
}

// takeLeases is TakeLeases.
func (m *model) takeLeases(owner string, now time.Time, partitions []int) (taken []int) {
	for _, partition := range slices.Sorted(slices.Values(partitions)) {
		if before, is := m.leases[partition]; !is || before.expires.Before(now) {
			m.leases[partition] = lease{owner, now.Add(m.leaseTime)}
			taken = append(taken, partition)
		}
	}
	return taken
}

// releaseLeases is ReleaseLeases.
func (m *model) releaseLeases(owner string, partitions []int) {
	maps.DeleteFunc(m.leases, func(partition int, one lease) bool {
		return one.owner == owner && slices.Contains(partitions, partition)
	})
}

// leave is Leave.
func (m *model) leave(owner string) {
	delete(m.members, owner)
	maps.DeleteFunc(m.leases, func(_ int, one lease) bool { return one.owner == owner })
}

// advance is store.Advance.Move.
func (m *model) advance(a store.Advance) error {
	for partition, expected := range a.From {
		if c := m.checkpoints[partition]; c.Position != expected || c.LogID != a.LogID {
			return store.ErrFenced
		}
	}
	for partition := range a.From {
		c := &m.checkpoints[partition]
		c.Position, c.Digest = a.To, a.Digest
	}
	return nil
}

// errTwice, errGap and errRow are faults of the projectors.
var (
	errTwice = errors.New("a message was applied twice")
	errGap   = errors.New("a checkpoint has moved over a message that was not applied")
	errRow   = errors.New("a row was written over one that was not read")
)

// apply notes the events of a batch whose checkpoints advance has moved. The batch must have all messages of the log between
// the old and the new positions.
func (m *model) apply(owner string, log []events.Message, batch []events.Event, a store.Advance) error {
	for _, event := range batch {
		if by, is := m.applied[event.Seq]; is {
			return fmt.Errorf("%w: %d, by %s and %s", errTwice, event.Seq, by, owner)
		}
		m.applied[event.Seq] = owner
	}
	for _, message := range log {
		from, moved := a.From[message.Partition]
		if moved && message.Seq > from && message.Seq <= a.To && m.applied[message.Seq] == "" {
			return fmt.Errorf("%w: %d of partition %d, by %s", errGap, message.Seq, message.Partition, owner)
		}
	}
	return nil
}

// count adds an event to the row of its customer.
func (m *model) count(seq uint64) {
	one := m.rows[customerOf(seq)]
	one.events++
	m.rows[customerOf(seq)] = one
}

// replace writes rows that a batch has changed in memory. They must be those that the tables would have if they had been
// read in this transaction.
func (m *model) replace(rows map[uint64]row, batch []events.Event) error {
	for _, event := range batch {
		m.count(event.Seq)
	}
	for customer, one := range rows {
		if one != m.rows[customer] {
			return fmt.Errorf("%w: %v instead of %v", errRow, one, m.rows[customer])
		}
	}
	return nil
}

// promote replaces the tables by those of a rebuild that has applied all messages up to position. It is not before any
// checkpoint.
func (m *model) promote(log []events.Message, position uint64) {
	m.tables++
	m.rowsID++
	for _, message := range log[:position] {
		if m.applied[message.Seq] == "" {
			m.count(message.Seq)
		}
		m.applied[message.Seq] = "rebuild"
	}
	for partition := range m.checkpoints {
		c := &m.checkpoints[partition]
		c.Position, c.Digest = position, log[position-1].Digest()
	}
}

// settle changes rows and moves no checkpoint.
func (m *model) settle() {
	m.rowsID++
	for customer := range uint64(customers) {
		one := m.rows[customer]
		one.settled++
		m.rows[customer] = one
	}
}
