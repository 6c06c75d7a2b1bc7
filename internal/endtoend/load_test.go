package endtoend

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// customers deliver at the same time.
const customers = 8

// A customer's pause between deliveries. The slow pace leaves the cores to the programs
// that are tested. With the fast pace deliveries are under way at any moment, so that a
// kill interrupts some.
const (
	slowPace = 200 * time.Millisecond
	fastPace = 10 * time.Millisecond
)

const packCredits = 3 // of every payment of the load

// load delivers the events of a shop whose sums are known. Every payment has two events.
// Each is delivered until it is accepted, and the first is delivered once more.
type load struct {
	payments [customers]int // completely delivered, by customer
	others   int            // payments of one event that somebody else has delivered
	progress chan struct{}  // gets one for each acknowledged delivery, unless it is full
	stop     chan struct{}
	ended    chan error
}

// startLoad delivers until finish is called.
func startLoad(t *testing.T, w *world, pace time.Duration) *load {
	l := &load{}
	l.start(t, w, pace)
	return l
}

// start delivers until finish or end is called. After that it can be called again.
func (l *load) start(t *testing.T, w *world, pace time.Duration) {
	l.progress, l.stop, l.ended = make(chan struct{}, customers), make(chan struct{}), make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	group, ctx := errgroup.WithContext(ctx)
	for customer := range customers {
		group.Go(func() error { return l.shop(ctx, w, customer, pace) })
	}
	go func() {
		defer cancel()
		l.ended <- group.Wait()
	}()
}

func (l *load) shop(ctx context.Context, w *world, customer int, pace time.Duration) error {
	for payment := l.payments[customer]; ; payment++ {
		name := fmt.Sprintf("%d_%d", customer, payment)
		user := fmt.Sprintf("u_%d", customer)
		first, second := pack("evt_a_"+name, "pay_"+name, user, packCredits), pack("evt_b_"+name, "pay_"+name, user, packCredits)
		for _, body := range []string{first, second, first} {
			if _, err := w.provider.DeliverUntilAccepted(ctx, body); err != nil {
				return err
			}
			select {
			case l.progress <- struct{}{}:
			default:
			}
			time.Sleep(pace)
		}
		l.payments[customer] = payment + 1
		select {
		case <-l.stop:
			return nil
		default:
		}
	}
}

// await waits for a random number of acknowledged deliveries, from 1 to max.
func (l *load) await(t *testing.T, max int) {
	t.Helper()
	for range 1 + rand.IntN(max) {
		select {
		case <-l.progress:
		case err := <-l.ended:
			require.NoError(t, err)
			t.Fatal("the load has ended")
		}
	}
}

// end ends the load, and returns the number of payments of each customer.
func (l *load) end(t *testing.T) [customers]int {
	t.Helper()
	close(l.stop)
	require.NoError(t, <-l.ended)
	return l.payments
}

// finish ends the load and checks the tables: they have every acknowledged event of it once,
// and every payment granted once.
func (l *load) finish(t *testing.T, w *world) {
	t.Helper()
	l.end(t)
	l.requireApplied(t, w)
}

// requireApplied is finish for a load that has ended.
func (l *load) requireApplied(t *testing.T, w *world) {
	t.Helper()
	w.awaitProjected(t)
	w.requireAllAccounted(t)
	total := 0
	for customer, payments := range l.payments {
		total += payments
		require.EqualValues(t, payments*packCredits, mustQuery[int64](t, w.database,
			"select balance from portal.credits where user_id = $1", fmt.Sprintf("u_%d", customer)))
	}
	require.EqualValues(t, 2*total, mustQuery[int64](t, w.database, "select count(*) from portal.processed_event where event_id ~ '^evt_[ab]_'"))
	require.EqualValues(t, total+l.others, mustQuery[int64](t, w.database, "select count(*) from portal.credit_ledger"))
	t.Logf("%d payments", total)
}
