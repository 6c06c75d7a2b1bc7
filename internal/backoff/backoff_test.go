package backoff

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWaitsDoubleUpToTheMaximum(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := Backoff{Min: time.Second, Max: 5 * time.Second}
		for _, want := range []time.Duration{1, 2, 4, 5, 5} {
			began := time.Now()
			require.Equal(t, want*time.Second, b.Next())
			require.NoError(t, b.Wait(t.Context()))
			require.LessOrEqual(t, time.Since(began), want*time.Second)
			require.GreaterOrEqual(t, time.Since(began), want*time.Second/2)
		}
		b.Reset()
		require.Equal(t, time.Second, b.Next())
	})
}

func TestTwoThatFailTogetherDoNotRetryTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		waits := func() (all [8]time.Duration) {
			b := Backoff{Min: time.Second, Max: time.Minute}
			for i := range all {
				began := time.Now()
				require.NoError(t, b.Wait(t.Context()))
				all[i] = time.Since(began)
			}
			return all
		}
		require.NotEqual(t, waits(), waits())
	})
}

func TestWaitsOfEveryIntervalAreEqual(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := Every(time.Second)
		for range 3 {
			began := time.Now()
			require.NoError(t, b.Wait(t.Context()))
			require.Equal(t, time.Second, time.Since(began))
		}
	})
}

func TestTheContextEndsAWait(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b := Backoff{Min: time.Hour, Max: time.Hour}
	require.ErrorIs(t, b.Wait(ctx), context.Canceled)
}

func TestAFaultThatRepeatsIsNotNew(t *testing.T) {
	t.Parallel()
	var fault Fault
	require.False(t, fault.Clear())
	require.True(t, fault.IsNew(errors.New("one")))
	require.False(t, fault.IsNew(errors.New("one")))
	require.True(t, fault.IsNew(errors.New("another")))
	require.True(t, fault.IsNew(errors.New("one")))
	require.True(t, fault.Clear())
	require.True(t, fault.IsNew(errors.New("one")))
}

func TestAnotherPortOfOurOwnIsNotANewFault(t *testing.T) {
	t.Parallel()
	var fault Fault
	require.True(t, fault.IsNew(errors.New("read tcp 10.0.0.1:40112->10.0.0.2:5432: connection reset by peer")))
	require.False(t, fault.IsNew(errors.New("read tcp 10.0.0.1:40118->10.0.0.2:5432: connection reset by peer")))
	require.True(t, fault.IsNew(errors.New("read tcp 10.0.0.1:40120->10.0.0.3:5432: connection reset by peer")))
}
