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

	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv"
)

// customers deliver at the same time.
const customers = 16

// world is what is known outside of the machine, which no power cut changes.
type world struct {
	provider *testenv.Provider
	seed     uint64
	large    int // of a hundred bodies, so many are large

	mu        sync.Mutex
	sent      map[string][sha256.Size]byte // every event ever delivered, and its body
	after     map[string]string            // the customer's newest confirmed event before that one was sent
	confirmed map[string]bool              // answered 200
	shown     map[uint64]string            // delivered to a reader
	last      [customers]string
	began     int
	hopeless  bool // nothing sent from now on can be confirmed
}

func newWorld(provider *testenv.Provider, seed uint64) *world {
	return &world{
		provider: provider, seed: seed, large: []int{1, 60}[seed%2],
		sent: map[string][sha256.Size]byte{}, after: map[string]string{}, confirmed: map[string]bool{}, shown: map[uint64]string{},
	}
}

// loadUntil delivers, and follows the log as a projector does, until the cut.
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

// load delivers until ctx ends.
func (m *machine) load(ctx context.Context) error {
	m.began++
	group, working := errgroup.WithContext(ctx)
	for customer := range customers {
		group.Go(func() error {
			return m.shop(working, customer, rand.New(rand.NewPCG(m.seed, uint64(m.began*customers+customer))))
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

// shop delivers new events, and at times an old one again.
func (w *world) shop(ctx context.Context, customer int, random *rand.Rand) error {
	var old []string
	for n := 0; ctx.Err() == nil; n++ {
		body := w.body(fmt.Sprintf("e_%d_%d_%d", w.began, customer, n), customer, random)
		if len(old) > 0 && random.IntN(8) == 0 {
			body = old[random.IntN(len(old))]
		} else {
			old = append(old[max(0, len(old)-20):], body)
		}
		id := idOf(body)
		w.mu.Lock()
		hopeless := w.hopeless
		if _, known := w.sent[id]; !known {
			w.sent[id], w.after[id] = sha256.Sum256([]byte(body)), w.last[customer]
		}
		w.mu.Unlock()
		status, _, err := w.provider.Deliver(ctx, body)
		if err == nil && status == http.StatusOK {
			w.mu.Lock()
			w.confirmed[id], w.last[customer] = true, id
			w.mu.Unlock()
			if hopeless {
				return fmt.Errorf("%s was confirmed by a disk that keeps nothing", id)
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

// follow notes what a reader is shown.
func (m *machine) follow(ctx context.Context) error {
	log, err := eventlog.Connect(eventlog.Config{DataDir: m.data(), Stream: testenv.Stream, Logger: testenv.Logger(m.t)})
	if err != nil {
		return err
	}
	defer log.Close()
	for ctx.Err() == nil {
		m.mu.Lock()
		next := uint64(len(m.shown) + 1)
		m.mu.Unlock()
		_ = log.Read(ctx, next, func(message events.Message) error { // it ends with its connection
			m.mu.Lock()
			defer m.mu.Unlock()
			m.shown[message.Seq] = message.ID
			return nil
		})
	}
	return nil
}

// compare says what is wrong with a message.
func (w *world) compare(message events.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if body, known := w.sent[message.ID]; !known || body != sha256.Sum256(message.Body) {
		return fmt.Errorf("the message at seq %d, %s, is not what was sent", message.Seq, message.ID)
	}
	if shown, found := w.shown[message.Seq]; found && shown != message.ID {
		return fmt.Errorf("a reader was shown %s at seq %d, now there is %s", shown, message.Seq, message.ID)
	}
	return nil
}

// complete says what is missing, there twice, or in the wrong place.
func (w *world) complete(found map[string]uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.confirmed {
		if found[id] == 0 {
			return fmt.Errorf("%s was confirmed and is not among %d messages", id, len(found))
		}
	}
	for seq, id := range w.shown {
		if found[id] != seq {
			return fmt.Errorf("a reader was shown %s at seq %d, now it is at %d of %d", id, seq, found[id], len(found))
		}
	}
	for id, before := range w.after {
		if found[id] != 0 && before != "" && found[before] > found[id] {
			return fmt.Errorf("%s was sent when %s was confirmed, and stands before it", id, before)
		}
	}
	return nil
}
