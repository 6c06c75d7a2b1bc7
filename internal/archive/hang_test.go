package archive_test

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/archive"
	"github.com/payfold/payfold/internal/archive/storage"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// hanging is a place whose disk hangs: one kind of call does not return before it is released, whatever its
// context says.
type hanging struct {
	storage.Place
	call     string
	released chan struct{}
	reached  chan struct{} // is closed when there is such a call
	once     sync.Once
}

func newHanging(place storage.Place, call string) *hanging {
	return &hanging{Place: place, call: call, released: make(chan struct{}), reached: make(chan struct{})}
}

func (h *hanging) hang(call string) {
	if call == h.call {
		h.once.Do(func() { close(h.reached) })
		<-h.released
	}
}

func (h *hanging) List(ctx context.Context, folder string) ([]string, error) {
	h.hang("list")
	return h.Place.List(ctx, folder)
}

func (h *hanging) Open(ctx context.Context, name string) (storage.Object, error) {
	h.hang("open")
	return h.Place.Open(ctx, name)
}

func (h *hanging) Create(ctx context.Context, name string, write func(io.Writer) error) error {
	if strings.Contains(name, "-") {
		h.hang("merge")
	}
	h.hang("create")
	return h.Place.Create(ctx, name, write)
}

func (h *hanging) Remove(ctx context.Context, name string) error {
	h.hang("remove")
	return h.Place.Remove(ctx, name)
}

// Whatever of the archive hangs, the lag grows and the log says it, although nothing has failed.
func TestTheLagIsToldWhileTheArchiveDoesNotAnswer(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"list", "open", "create", "merge", "remove"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			w := setup(t)
			w.fill(t, 1, 1)
			place := newHanging(w.place(t), call)
			archiver := w.archiverOf(place, w.Log, time.Millisecond)
			stop := run(t, archiver)
			reached := func() bool {
				select {
				case <-place.reached:
					return true
				default:
					return false
				}
			}
			last := uint64(1)
			for ; !reached(); last++ {
				wait.Until(t, func() bool { return reached() || w.open(t, w.place(t)).Last() == last })
				w.fill(t, int(last)+1, int(last)+1)
			}
			before := archiver.State().LagSeconds
			wait.Until(t, func() bool { return archiver.State().LagSeconds > before+0.2 })
			require.Positive(t, metric(t, archiver.Registerer, "payfold_archive_lag_seconds"))
			require.Contains(t, archiver.State().LastError, "does not answer")
			wait.Until(t, func() bool { return strings.Contains(w.logged(), "the archive is behind the log") })
			require.NotContains(t, w.logged(), "cannot be written now")

			close(place.released)
			wait.Until(t, func() bool { return w.open(t, w.place(t)).Last() == last })
			wait.Until(t, func() bool {
				return archiver.State() == archive.State{Archive: w.path, LookedAt: archiver.State().LookedAt}
			}, "it is no more behind")
			require.Zero(t, metric(t, archiver.Registerer, "payfold_archive_lag_seconds"))
			stop()
			w.requireWhole(t, w.place(t))
		})
	}
}
