package webhook_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/wait"
)

// receive waits for a signal. It gives up only after minutes.
func receive[T any](t *testing.T, signal <-chan T) T {
	t.Helper()
	select {
	case value := <-signal:
		return value
	case <-time.After(wait.Timeout):
		require.FailNow(t, "nothing came")
		panic("unreachable")
	}
}

func TestAnAppendEndsAfterPublishTimeout(t *testing.T) {
	t.Parallel()
	const publishTimeout = 50 * time.Millisecond
	deadlines := make(chan time.Time, 1)
	w := setup(t, func(w *world) {
		w.config.PublishTimeout = publishTimeout
		w.log.answer = func(ctx context.Context, _ events.Delivery) (bool, error) {
			deadline, _ := ctx.Deadline()
			deadlines <- deadline
			<-ctx.Done()
			return false, ctx.Err()
		}
	})
	began := time.Now()
	requireProblem(t, w.send(delivery(event)), http.StatusServiceUnavailable, notStored)
	ended := time.Now()
	deadline := receive(t, deadlines)
	require.WithinRange(t, deadline, began.Add(publishTimeout), ended)
}

func TestOnceVerifiedTheAppendIsFinishedEvenIfTheCallerHangsUp(t *testing.T) {
	t.Parallel()
	hangUp := make(chan func(), 1) // ends the request's context, as net/http does when it notices
	appends := make(chan context.Context, 1)
	answer, stored := make(chan struct{}), make(chan error, 1)
	w := setup(t, func(w *world) {
		w.wrap = func(inner http.Handler) http.Handler {
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				ctx, cancel := context.WithCancel(r.Context())
				defer cancel()
				hangUp <- cancel
				inner.ServeHTTP(w, r.WithContext(ctx))
			})
		}
		w.log.answer = func(ctx context.Context, _ events.Delivery) (bool, error) {
			appends <- ctx
			select {
			case <-answer:
			case <-ctx.Done():
			}
			stored <- ctx.Err()
			return false, ctx.Err()
		}
	})
	c := w.dial()
	c.begin(event, "Content-Length: 59")
	c.say("%s", event)
	log := receive(t, appends)
	require.NoError(t, c.Close())
	receive(t, hangUp)()
	require.NoError(t, log.Err())
	close(answer)
	require.NoError(t, receive(t, stored))
}

func TestDeliveriesAboveMaxInFlightAreRefusedUntilOthersEnd(t *testing.T) {
	t.Parallel()
	const maxInFlight = 3
	entered, leave := make(chan struct{}, maxInFlight), make(chan struct{})
	w := setup(t, func(w *world) {
		w.config.MaxInFlight = maxInFlight
		w.log.answer = func(context.Context, events.Delivery) (bool, error) {
			entered <- struct{}{}
			<-leave
			return false, nil
		}
	})
	var waiting []*conversation
	for range maxInFlight {
		c := w.dial()
		c.begin(event, "Content-Length: 59")
		c.say("%s", event)
		waiting = append(waiting, c)
		receive(t, entered)
	}
	full := w.send(delivery(event))
	requireProblem(t, full, http.StatusServiceUnavailable, "Too many deliveries at once")
	require.EqualValues(t, 1, w.deliveries()["too_many/deliveries"])
	require.Positive(t, w.metric("payfold_webhook_refusing_since_timestamp_seconds"))
	unsigned := delivery(event)
	unsign(unsigned)
	require.Equal(t, http.StatusUnauthorized, w.send(unsigned).status, "an unsigned delivery counts for nothing")
	get := delivery(event)
	get.method = http.MethodGet
	requireProblem(t, w.send(get), http.StatusMethodNotAllowed, wrongMethod)
	require.Len(t, w.log.deliveries(), maxInFlight)

	close(leave)
	for _, c := range waiting {
		require.Equal(t, accepted, c.answer().body)
	}
	require.Equal(t, accepted, w.send(delivery(event)).body)
}

func TestEveryAnswerEndsItsDeliveryInFlight(t *testing.T) {
	t.Parallel()
	answers := make(chan error, 1)
	w := setup(t, func(w *world) {
		w.config.MaxInFlight = 1
		w.log.answer = func(context.Context, events.Delivery) (bool, error) { return false, <-answers }
	})
	for _, row := range problems {
		r := delivery(row.body)
		row.spoil(r)
		require.Equal(t, row.status, w.send(r).status, row.name)
	}
	answers <- errors.New("away")
	require.Equal(t, http.StatusServiceUnavailable, w.send(delivery(event)).status)
	answers <- nil
	require.Equal(t, accepted, w.send(delivery(event)).body)
}
