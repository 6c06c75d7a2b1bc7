package rebuild

import (
	"context"
	"maps"
	"runtime"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/tables"
)

// folding folds an input bucket by bucket.
type folding struct {
	rules       projections.Rules
	quarantined map[uint64]bool
	connected   *connected
	progress    func(count int) // called concurrently
	workers     []*worker
}

// newFolding returns a folding with a worker for each core. Rules with extras have one worker: its state adds up the sums
// of all buckets.
func newFolding(rules projections.Rules, quarantined map[uint64]bool, connected *connected, progress func(count int)) *folding {
	f := &folding{rules: rules, quarantined: quarantined, connected: connected, progress: progress}
	count := runtime.GOMAXPROCS(0)
	if len(rules.Extras) > 0 {
		count = 1
	}
	for range count {
		f.workers = append(f.workers, f.newWorker())
	}
	return f
}

// ofManyCustomers returns the rows of the tables that the other rows leave out, when everything is folded.
func (f *folding) ofManyCustomers() (all []tables.Change) {
	whole := f.workers[0].state
	for _, w := range f.workers[1:] {
		maps.Copy(whole.Unlisted, w.state.Unlisted)
	}
	for _, change := range tables.Changes(whole) {
		if change.Table().About().OfManyCustomers() {
			all = append(all, change)
		}
	}
	return all
}

// all folds all buckets, and then the events that leave them. It calls write concurrently, with rows in COPY's binary
// format, in the order of tables.All.
func (f *folding) all(ctx context.Context, in *input, memory int, write func(context.Context, [][]byte) error) error {
	buckets := in.events.buckets
	if err := f.buckets(ctx, in.events, true, write); err != nil {
		return err
	}
	in.events.close()
	together, err := f.connected.together(buckets, memory)
	defer together.close()
	if err != nil {
		return err
	}
	return f.buckets(ctx, together, false, write)
}

// buckets folds all buckets of a spool. With split, events that are connected with other buckets leave it. Otherwise the
// events are not in the order of the log yet.
func (f *folding) buckets(ctx context.Context, from *spool, split bool, write func(context.Context, [][]byte) error) error {
	var all []func(int) error
	for _, w := range f.workers {
		all = append(all, func(bucket int) error {
			records, err := from.read(bucket)
			if err != nil {
				return err
			}
			if split {
				records, err = w.leave(records)
			} else {
				inOrder(records)
			}
			if err != nil || len(records) == 0 {
				return err
			}
			rows, err := w.fold(records)
			if err != nil {
				return err
			}
			f.progress(len(records))
			return write(ctx, rows)
		})
	}
	return inParallel(ctx, from.buckets, all...)
}

// worker folds one bucket after another.
type worker struct {
	*folding
	state    *projections.State
	splitter splitter
	reader   eventReader
	sizes    []int // of the rows of the last bucket
}

func (f *folding) newWorker() *worker {
	w := &worker{folding: f, splitter: splitter{connected: f.connected}, sizes: make([]int, len(tables.All))}
	w.renew()
	return w
}

func (w *worker) renew() {
	state := projections.NewState()
	state.Quarantined = w.quarantined
	if w.state != nil {
		state.Unlisted = w.state.Unlisted
	}
	w.state = state
}

// leave returns the events of a bucket without those that are connected with other buckets.
func (w *worker) leave(records []string) (stay []string, err error) {
	stay, leave := w.splitter.split(records)
	for _, group := range leave {
		if err := w.connected.add(group); err != nil {
			return nil, err
		}
	}
	return stay, nil
}

// largeBucket is how many events make a state whose maps are not used again: emptying them would take too long.
const largeBucket = 20 * bucketEvents

// fold folds events into empty tables and returns the rows. Those of many customers stay in the state. The error may
// be a store.RefusedError.
func (w *worker) fold(records []string) ([][]byte, error) {
	if err := w.rules.FoldAll(w.state, w.reader.all(records)); err != nil {
		return nil, store.AsRefused(err)
	}
	rows := make([][]byte, len(tables.All))
	for i, change := range tables.Changes(w.state) {
		if !change.Table().About().OfManyCustomers() {
			rows[i] = change.AppendInserted(make([]byte, 0, w.sizes[i]+w.sizes[i]/4))
			w.sizes[i] = len(rows[i])
		}
	}
	if w.state.Reset(); len(records) > largeBucket && len(w.rules.Extras) == 0 {
		w.renew()
	}
	return rows, nil
}
