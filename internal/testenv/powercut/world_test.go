//go:build powercut

package powercut_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
)

// customers deliver at the same time.
const customers = 16

// world is what provider and reader know. A power cut does not change it.
type world struct {
	provider *testenv.Provider
	seed     uint64
	large    int // percentage of large bodies
	again    int // each shop delivers so many of its last events again

	mu        sync.Mutex
	sent      map[string][sha256.Size]byte // every event, with the digest of its body
	after     map[string]string            // by event: the customer's newest confirmed event when it was sent
	confirmed map[string]bool              // answered 200
	read      map[uint64]string            // by a reader: event by sequence
	last      [customers]string            // each customer's newest confirmed event
	loads     int                          // calls of load
	syncsFail bool                         // events that are sent from now on must not be confirmed
}

func newWorld(provider *testenv.Provider, seed uint64) *world {
	return &world{
		provider: provider, seed: seed, large: []int{1, 60}[seed%2], again: 20,
		sent: map[string][sha256.Size]byte{}, after: map[string]string{}, confirmed: map[string]bool{}, read: map[uint64]string{},
	}
}

// loadUntil runs load until the cut, which also kills ingest.
func (m *machine) loadUntil(cut <-chan struct{}) error {
	ctx, cancel := context.WithCancel(m.t.Context())
	defer cancel()
	go func() {
		select {
		case <-cut:
			m.ingest.Kill()
			cancel()
		case <-ctx.Done():
		}
	}()
	return m.load(ctx)
}

// load delivers, and follows the log as a projector does, until ctx ends.
func (m *machine) load(ctx context.Context) error {
	m.loads++
	group, working := errgroup.WithContext(ctx)
	for customer := range customers {
		group.Go(func() error {
			return m.shop(working, customer, rand.New(rand.NewPCG(m.seed, uint64(m.loads*customers+customer))))
		})
	}
	group.Go(func() error { return m.follow(working) })
	err := group.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func (w *world) confirmations() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.confirmed)
}

// shop delivers new events, and sometimes an old one again.
func (w *world) shop(ctx context.Context, customer int, random *rand.Rand) error {
	var old []string
	for n := 0; ctx.Err() == nil; n++ {
		body := w.body(fmt.Sprintf("e_%d_%d_%d", w.loads, customer, n), customer, random)
		if len(old) > 0 && random.IntN(8) == 0 {
			body = old[random.IntN(len(old))]
		} else {
			old = append(old[max(0, len(old)-w.again):], body)
		}
		id := idOf(body)
		w.mu.Lock()
		syncsFail := w.syncsFail
		if _, known := w.sent[id]; !known {
			w.sent[id], w.after[id] = sha256.Sum256([]byte(body)), w.last[customer]
		}
		w.mu.Unlock()
		status, _, err := w.provider.Deliver(ctx, body)
		if err == nil && status == http.StatusOK {
			w.mu.Lock()
			w.confirmed[id], w.last[customer] = true, id
			w.mu.Unlock()
			if syncsFail {
				return fmt.Errorf("%s was confirmed although no fsync succeeded", id)
			}
		}
	}
	return nil
}

func (w *world) body(id string, customer int, random *rand.Rand) string {
	size := random.IntN(2000)
	if random.IntN(100) < w.large {
		size = random.IntN(150_000)
	}
	return fmt.Sprintf(`{"id":%q,"eventType":"checkout.completed","object":{"customer":"c%d","pad":%q}}`,
		id, customer, strings.Repeat("x", size))
}

func idOf(body string) string {
	_, after, _ := strings.Cut(body, `"id":"`)
	id, _, _ := strings.Cut(after, `"`)
	return id
}

// follow reads the log and records each message.
func (m *machine) follow(ctx context.Context) error {
	log := m.connect(m.archive())
	defer log.Close()
	for ctx.Err() == nil {
		m.mu.Lock()
		next := uint64(len(m.read) + 1)
		m.mu.Unlock()
		_ = log.Read(ctx, next, func(message events.Message, _ string) error { // the error is that of the connection
			m.mu.Lock()
			defer m.mu.Unlock()
			m.read[message.Seq] = message.ID
			return nil
		})
	}
	return nil
}

// checkMessage compares a message with what was sent and what a reader read before.
func (w *world) checkMessage(message events.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if body, known := w.sent[message.ID]; !known || body != sha256.Sum256(message.Body) {
		return fmt.Errorf("the message at seq %d, %s, is not what was sent", message.Seq, message.ID)
	}
	if before, found := w.read[message.Seq]; found && before != message.ID {
		return fmt.Errorf("a reader read %s at seq %d, which is %s now", before, message.Seq, message.ID)
	}
	return nil
}

// checkComplete requires every event that was confirmed or read, in the right order.
func (w *world) checkComplete(found map[string]uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.confirmed {
		if found[id] == 0 {
			return fmt.Errorf("%s was confirmed and is not among %d messages", id, len(found))
		}
	}
	for seq, id := range w.read {
		if found[id] != seq {
			return fmt.Errorf("a reader read %s at seq %d, now it is at %d of %d", id, seq, found[id], len(found))
		}
	}
	for id, before := range w.after {
		if found[id] != 0 && before != "" && found[before] > found[id] {
			return fmt.Errorf("%s was sent after %s was confirmed, and is before it in the log", id, before)
		}
	}
	return nil
}
