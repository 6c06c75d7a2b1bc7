package rebuild

import (
	"cmp"
	"context"
	"encoding/binary"
	"hash/maphash"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/tables"
)

var seed = maphash.MakeSeed()

// eachName calls do with the hash of every name by which the fold of an event looks for rows. That two names have one
// hash does no harm: then their events are folded together.
func eachName(e *events.Event, do func(hash uint64)) {
	tables.EachName(*e, func(_ tables.NameKind, name string) {
		if name == "" {
			return
		}
		do(maphash.String(seed, name))
		if user, implicit := strings.CutPrefix(name, projections.ImplicitSubscription("")); implicit {
			do(maphash.String(seed, user))
		}
	})
}

// names finds the names that several buckets have.
type names struct {
	all    *spool     // hash and bucket of each name, by hash
	recent []nameUsed // what was added before, so that most names of a customer are added once
}

type nameUsed struct {
	hash   uint64
	bucket uint32
}

const (
	recentNames = 1 << 18
	nameSize    = 12
)

func newNames(buckets, limit int) *names {
	return &names{all: newSpool(buckets, limit), recent: make([]nameUsed, recentNames)}
}

// add adds the names of an event of a bucket.
func (n *names) add(e *events.Event, bucket int) (err error) {
	eachName(e, func(hash uint64) {
		this := nameUsed{hash, uint32(bucket)}
		if before := &n.recent[hash%recentNames]; *before != this && err == nil {
			*before = this
			record := binary.BigEndian.AppendUint64(make([]byte, 0, nameSize), hash)
			err = n.all.add(int(hash>>32)%n.all.buckets, binary.BigEndian.AppendUint32(record, this.bucket))
		}
	})
	return err
}

// shared returns the hashes of the names that several buckets have. Afterwards n is of no use.
func (n *names) shared(ctx context.Context) (map[uint64]struct{}, error) {
	defer n.all.close()
	n.all.seal()
	n.recent = nil
	var adding sync.Mutex
	shared := map[uint64]struct{}{}
	find := func(part int) error {
		records, err := n.all.read(part)
		if err != nil {
			return err
		}
		used := make([]nameUsed, len(records))
		for i, record := range records {
			used[i] = nameUsed{binary.BigEndian.Uint64([]byte(record[:8])), binary.BigEndian.Uint32([]byte(record[8:]))}
		}
		slices.SortFunc(used, func(a, b nameUsed) int { return cmp.Compare(a.hash, b.hash) })
		adding.Lock()
		defer adding.Unlock()
		for i := 1; i < len(used); i++ {
			if used[i].hash == used[i-1].hash && used[i].bucket != used[i-1].bucket {
				shared[used[i].hash] = struct{}{}
			}
		}
		return nil
	}
	return shared, inParallel(ctx, n.all.buckets, slices.Repeat([]func(int) error{find}, runtime.GOMAXPROCS(0))...)
}

// inParallel calls functions with the numbers from 0 to count-1. Each function runs in a goroutine of its own.
func inParallel(ctx context.Context, count int, all ...func(int) error) error {
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for _, do := range all {
		group.Go(func() error {
			for {
				n := int(next.Add(1)) - 1
				if n >= count {
					return nil
				}
				if err := ctx.Err(); err != nil {
					return err
				}
				if err := do(n); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}
