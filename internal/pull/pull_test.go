package pull_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/pull"
	"github.com/payfold/payfold/internal/testenv/payapi"
	"github.com/payfold/payfold/internal/testenv/wait"
)

type labelPair = dto.LabelPair

func TestAPullAppendsWhatTheLogLacksAndNothingTwice(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list := w.happened(450)
			for _, e := range list[100:130] {
				_, err := w.log.Log.Append(t.Context(), w.delivery(e))
				require.NoError(t, err)
			}
			puller, pages := w.puller(), 0
			result, err := puller.Pull(t.Context(), time.Time{}, func(pull.Result) { pages++ })
			require.NoError(t, err)
			require.Equal(t, []int64{450, 420, 30, 0}, []int64{result.Seen, result.Appended, result.Present, result.Refused})
			require.GreaterOrEqual(t, pages, 3)
			w.requireEachOnce(list)
			for _, m := range w.stored()[30:] {
				require.Equal(t, []string{events.SourcePulled, provider, ""}, []string{m.Source, m.Provider, m.Signature})
			}
			require.EqualValues(t, 420, w.log.appended.Load())

			list = append(list, payapi.NewEvent(provider, 9999, time.Now().Add(5*time.Minute)))
			w.api.Add(list[450])
			result, err = puller.Pull(t.Context(), time.Time{}, nil)
			require.NoError(t, err)
			require.EqualValues(t, 1, result.Appended)
			require.EqualValues(t, 421, w.log.appended.Load(), "the log is not asked to append what it has, also after its duplicate window")
			w.requireEachOnce(list)
			require.EqualValues(t, 421, w.metric("payfold_pull_events_total", "appended"))
			require.Zero(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""))
			require.Positive(t, w.metric("payfold_pull_last_complete_timestamp_seconds", ""))
			if provider == "creem" { // its feed has the events of one endpoint
				require.Len(t, w.api.Acknowledged(), 451)
				require.Empty(t, w.complete)
				return
			}
			require.Len(t, w.complete, 2)
			require.Equal(t, result.Until, w.complete[1])
		})
	}
}

func TestACopyThatIsDeliveredLaterIsADuplicate(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list := w.happened(1)
			_, err := w.puller().Pull(t.Context(), time.Time{}, nil)
			require.NoError(t, err)
			duplicate, err := w.log.Log.Append(t.Context(), w.delivery(list[0]))
			require.NoError(t, err)
			require.True(t, duplicate)
		})
	}
}

// misbehave makes the API fail in each way for a while.
func misbehave(n int, w http.ResponseWriter, _ *http.Request) bool {
	switch n % 6 {
	case 0:
		http.Error(w, "no", http.StatusInternalServerError)
	case 1:
		w.Header().Set("Retry-After", "0")
		http.Error(w, "slowly", http.StatusTooManyRequests)
	case 2:
		w.Header().Set("Content-Length", "1000")
		fmt.Fprint(w, `{"data":[{"id":"evt_0`)
		panic(http.ErrAbortHandler)
	case 3:
		fmt.Fprint(w, `{"items":[{"id":"evt_0`)
	default:
		return false
	}
	return true
}

func TestAnAPIThatMisbehavesLosesNothing(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list := w.happened(250)
			w.api.Before = misbehave
			puller := w.puller()
			for range 100 { // parallel requests may get more bad answers in a row than are tried again
				if _, err := puller.Pull(t.Context(), time.Time{}, nil); err == nil {
					break
				}
			}
			w.requireEachOnce(list)
			require.Zero(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""))
		})
	}
}

func TestEventsThatHappenMeanwhileShiftPagesAndLoseNothing(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list, added := w.happened(350), []payapi.Event{}
			w.api.Before = func(n int, _ http.ResponseWriter, r *http.Request) bool {
				if r.Method == http.MethodGet && n > 0 && len(added) < 2 {
					added = append(added, payapi.NewEvent(provider, 1000+n, time.Now().Add(6*time.Minute)))
					w.api.Add(added[len(added)-1])
				}
				return false
			}
			puller := w.puller()
			for range 2 {
				_, err := puller.Pull(t.Context(), time.Time{}, nil)
				require.NoError(t, err)
			}
			require.NotEmpty(t, added)
			w.requireEachOnce(append(list, added...))
		})
	}
}

func TestAPullThatIsCutShortGoesOnInTheNextProcess(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list := w.happened(450)
			ctx, kill := context.WithCancel(t.Context())
			result, err := w.puller().Pull(ctx, time.Time{}, func(pull.Result) { kill() })
			require.ErrorIs(t, err, context.Canceled)
			require.Positive(t, result.Appended)
			require.Less(t, result.Appended, int64(450))
			require.Positive(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""))
			_, err = w.puller().Pull(t.Context(), time.Time{}, nil)
			require.NoError(t, err)
			w.requireEachOnce(list)
		})
	}
}

func TestARefusedKeyIsAMetricUntilItIsRight(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list := w.happened(2)
			w.key = "wrong"
			_, err := w.puller().Pull(t.Context(), time.Time{}, nil)
			require.True(t, providerapi.KeyRefused(err), err)
			require.EqualValues(t, 1, w.metric("payfold_pull_key_refused", ""))
			require.Positive(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""))
			w.key = payapi.Key
			_, err = w.puller().Pull(t.Context(), time.Time{}, nil)
			require.NoError(t, err)
			require.Zero(t, w.metric("payfold_pull_key_refused", ""))
			w.requireEachOnce(list)
		})
	}
}

func TestAnEventThatCannotBeStoredIsCountedAndEndsNothing(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list := w.happened(3)
			large := payapi.NewEvent(provider, 100, time.Now())
			large.Body = strings.Replace(large.Body, "{", `{"more":"`+strings.Repeat("x", 1000)+`",`, 1)
			foreign := payapi.Event{ID: "evt_foreign", Body: `{"id":"evt_foreign","text":"of a chat"}`, At: time.Now()}
			w.api.Add(large, foreign)
			result, err := w.puller().Pull(t.Context(), time.Time{}, nil)
			require.NoError(t, err)
			require.Equal(t, []int64{5, 3, 2}, []int64{result.Seen, result.Appended, result.Refused})
			w.requireEachOnce(list)
			require.EqualValues(t, 2, w.metric("payfold_pull_events_total", "refused"))
			if provider == "creem" {
				require.Equal(t, http.StatusRequestEntityTooLarge, w.api.Acknowledged()["evt_00000100"])
				require.Equal(t, http.StatusBadRequest, w.api.Acknowledged()["evt_foreign"])
			}
		})
	}
}

func TestAnArchivedBodyIsRefusedUnlessTheLogHasTheEvent(t *testing.T) {
	t.Parallel()
	w := setup(t, "polar")
	list := w.happened(1)
	_, err := w.log.Log.Append(t.Context(), w.delivery(list[0]))
	require.NoError(t, err)
	w.api.Add(payapi.Event{ID: list[0].ID, At: time.Now()}, payapi.Event{ID: "gone", At: time.Now()})
	result, err := w.puller().Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	require.Equal(t, []int64{0, 2, 1}, []int64{result.Appended, result.Present, result.Refused})
}

func TestEachAttemptToDeliverIsTheSameEvent(t *testing.T) {
	t.Parallel()
	w := setup(t, "polar")
	e := payapi.NewEvent("polar", 1, time.Now())
	e.Attempts = 250
	w.api.Add(e)
	_, err := w.puller().Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	w.requireEachOnce([]payapi.Event{e})
}

// signed adds an event with the headers of a delivery.
func (w *world) signed(secret string) (payapi.Event, []providers.Secret) {
	w.t.Helper()
	of := providers.Named(w.provider)
	key, err := of.NewSecret(secret)
	require.NoError(w.t, err)
	e := payapi.NewEvent(w.provider, 1, time.Now())
	e.Headers = map[string]string{"content-type": "application/json"}
	for name, values := range of.Sign(key, e.ID, []byte(e.Body), time.Now()) {
		e.Headers[strings.ToLower(name)] = values[0]
	}
	w.api.Add(e)
	return e, []providers.Secret{key}
}

func TestAPulledDeliveryKeepsItsSignatureAndItsBytes(t *testing.T) {
	t.Parallel()
	w := setup(t, "creem")
	var e payapi.Event
	e, w.secrets = w.signed("whsec_c2VjcmV0IG9mIHRoZSB0ZXN0")
	_, err := w.puller().Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	m := w.stored()[0]
	require.Equal(t, e.Body, string(m.Body))
	require.Equal(t, events.SourcePulled, m.Source)
	require.NoError(t, providers.Secrets{"creem": w.secrets}.Check(m))
	require.Equal(t, map[string]int{e.ID: 200}, w.api.Acknowledged())
}

func TestASignatureOfAnotherSecretIsNotStored(t *testing.T) {
	t.Parallel()
	w := setup(t, "creem")
	e, _ := w.signed("whsec_c2VjcmV0IG9mIHRoZSB0ZXN0")
	other, err := providers.Named("creem").NewSecret("another secret")
	require.NoError(t, err)
	w.secrets = []providers.Secret{other}
	_, err = w.puller().Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	m := w.stored()[0]
	require.Equal(t, []string{e.Body, events.SourcePulled, "", ""}, []string{string(m.Body), m.Source, m.Signature, m.KeyFingerprint})
	require.Equal(t, map[string]int{e.ID: 200}, w.api.Acknowledged(), "nothing is lost")
}

func TestNothingIsAcknowledgedThatIsNotInTheLog(t *testing.T) {
	t.Parallel()
	w := setup(t, "creem")
	list := w.happened(120)
	failed := errors.New("the disk is full")
	w.log.fail = func(d events.Delivery) error {
		if d.Event.ID == list[50].ID {
			return failed
		}
		return nil
	}
	reader := w.log.Reader(t)
	w.api.Before = func(_ int, _ http.ResponseWriter, r *http.Request) bool {
		if id, isAck := strings.CutSuffix(r.URL.Path, "/ack"); isAck { // a reader is shown durable messages only
			id = id[strings.LastIndex(id, "/")+1:]
			info, err := reader.Info(t.Context())
			found := false
			if err == nil {
				err = reader.ReadUntil(t.Context(), 1, info.Last, func(m events.Message) error {
					found = found || m.ID == id
					return nil
				})
			}
			if err != nil || !found {
				t.Errorf("%s is acknowledged and not stored: %v", id, err)
			}
		}
		return false
	}
	puller := w.puller()
	_, err := puller.Pull(t.Context(), time.Time{}, nil)
	require.ErrorIs(t, err, failed)
	require.NotContains(t, w.api.Acknowledged(), list[50].ID)
	w.log.fail = nil
	_, err = puller.Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	require.Len(t, w.api.Acknowledged(), 120)
	w.requireEachOnce(list)
}

func TestAnEventThatCannotBeAcknowledgedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	w := setup(t, "creem")
	list := w.happened(250)
	w.api.Before = func(_ int, answer http.ResponseWriter, r *http.Request) bool {
		refused := strings.HasSuffix(r.URL.Path, list[50].ID+"/ack")
		if refused {
			http.Error(answer, `{"error":"unprocessable"}`, http.StatusUnprocessableEntity)
		}
		return refused
	}
	puller := w.puller()
	result, err := puller.Pull(t.Context(), time.Time{}, nil)
	require.ErrorContains(t, err, "1 of the events stay at the provider, the first: event "+list[50].ID+" could not be acknowledged with 200: creem: POST ")
	require.Equal(t, []int64{250, 250}, []int64{result.Seen, result.Appended})
	require.Len(t, w.api.Acknowledged(), 249)
	require.Positive(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""))
	w.api.Before = nil
	_, err = puller.Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	require.Len(t, w.api.Acknowledged(), 250)
	w.requireEachOnce(list)
}

func TestEventsThatStayInTheFeedHideNoOtherSilently(t *testing.T) {
	t.Parallel()
	w := setup(t, "creem")
	list := w.happened(101)
	w.api.Before = func(_ int, answer http.ResponseWriter, r *http.Request) bool {
		refused := r.Method == http.MethodPost
		if refused {
			http.Error(answer, `{"error":"not found"}`, http.StatusNotFound)
		}
		return refused
	}
	_, err := w.puller().Pull(t.Context(), time.Time{}, nil)
	require.ErrorContains(t, err, "creem: 100 pending events cannot be acknowledged, and may hide newer ones")
	require.ErrorContains(t, err, "100 of the events stay at the provider, the first: ")
	w.requireEachOnce(list[:100])
}

func TestPendingEventsWithoutAnIDAreCounted(t *testing.T) {
	t.Parallel()
	w := setup(t, "creem")
	w.api.Add(payapi.Event{Body: "one", At: time.Now()}, payapi.Event{Body: "another", At: time.Now()})
	list := w.happened(2)
	result, err := w.puller().Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	require.Equal(t, []int64{4, 2, 2}, []int64{result.Seen, result.Appended, result.Refused})
	w.requireEachOnce(list)
}

func TestRunPullsAtOnceAndAgain(t *testing.T) {
	t.Parallel()
	w := setup(t, "creem")
	list := w.happened(1)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- w.puller().Run(ctx, time.Time{}, nil) }()
	wait.Until(t, func() bool { return w.log.appended.Load() == 1 })
	list = append(list, payapi.NewEvent("creem", 1000, time.Now()))
	w.api.Add(list[1])
	wait.Until(t, func() bool { return len(w.api.Acknowledged()) == 2 })
	stop()
	require.NoError(t, <-ended)
	w.requireEachOnce(list)
}

func TestSinceByHandDoesNotMoveWhatIsPulledNext(t *testing.T) {
	t.Parallel()
	w := setup(t, "stripe")
	old := payapi.NewEvent("stripe", 1, time.Now().Add(-2*time.Hour))
	w.api.Add(old)
	puller := w.puller()
	w.api.Before = func(_ int, answer http.ResponseWriter, _ *http.Request) bool {
		http.Error(answer, "no", http.StatusForbidden)
		return true
	}
	_, err := puller.Pull(t.Context(), time.Time{}, nil)
	require.Error(t, err)
	w.api.Before = nil
	result, err := puller.Pull(t.Context(), time.Now().Add(-time.Minute), nil)
	require.NoError(t, err)
	require.Zero(t, result.Seen)
	require.Zero(t, w.metric("payfold_pull_key_refused", ""))
	require.Zero(t, w.metric("payfold_pull_last_complete_timestamp_seconds", ""))
	require.Empty(t, w.complete)
	require.Positive(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""), "the old event is still missing")
	result, err = puller.Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	require.EqualValues(t, 1, result.Appended)
	require.Zero(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""))
	require.WithinDuration(t, time.Now().Add(-30*24*time.Hour), result.Since, time.Minute)
	result, err = puller.Pull(t.Context(), time.Time{}, nil)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-time.Hour), result.Since, time.Minute)
	result, err = puller.Pull(t.Context(), time.Now().Add(-90*24*time.Hour), nil)
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-30*24*time.Hour), result.Since, time.Minute, "no longer than events are kept")
}

// A shop that has introduced its buyers does not want to grant again what they had bought before. What waits for an
// acknowledgement is never left out: it would hide newer events.
func TestWhatHappenedBeforeATimeIsPulledOnlyByHand(t *testing.T) {
	t.Parallel()
	for _, provider := range providerapi.Names() {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			w := setup(t, provider)
			list := w.happened(300) // one a second: a page has old events and new ones
			w.notBefore = list[150].At.Add(-time.Millisecond)
			wanted := list[150:]
			if provider == "creem" {
				wanted = list
			}
			puller := w.puller()
			result, err := puller.Pull(t.Context(), time.Time{}, nil)
			require.NoError(t, err)
			w.requireEachOnce(wanted)
			require.EqualValues(t, len(wanted), result.Seen)
			require.Zero(t, w.metric("payfold_pull_unfinished_since_timestamp_seconds", ""), "it is complete")

			_, err = puller.Pull(t.Context(), list[0].At.Add(-time.Minute), nil)
			require.NoError(t, err)
			w.requireEachOnce(list)
		})
	}
}

func TestOnePullRunsAtATime(t *testing.T) {
	t.Parallel()
	w := setup(t, "stripe")
	w.happened(1)
	var running atomic.Int64
	w.api.Before = func(int, http.ResponseWriter, *http.Request) bool {
		if running.Add(1) > 1 {
			t.Error("two pulls run")
		}
		defer running.Add(-1)
		return false
	}
	puller, ended := w.puller(), make(chan error, 8)
	for range cap(ended) {
		go func() {
			_, err := puller.Pull(t.Context(), time.Time{}, nil)
			ended <- err
		}()
	}
	for range cap(ended) {
		require.NoError(t, <-ended)
	}
	require.EqualValues(t, 1, w.log.appended.Load())
}
