package webhook

import (
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestASenderIsWaitedForAsLongAsItMakesProgress(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	for name, row := range map[string]struct {
		rate int // bytes a second
		end  int // seconds; 0: none
	}{
		"nothing":       {0, 6},
		"a byte":        {1, 6},
		"half of it":    {minRate / 2, 10},
		"as it must be": {minRate, 0},
		"quick":         {100 * minRate, 0},
	} {
		sender := progress{timeout: defaultStallTimeout}
		sender.begin(began)
		second := 1
		for ; second < 60 && !sender.deadline.Before(at(second)); second++ {
			sender.received(row.rate, at(second))
		}
		if row.end == 0 {
			row.end = 60
		}
		require.Equal(t, row.end, second, name)
	}

	burst := progress{timeout: defaultStallTimeout}
	burst.begin(began)
	burst.received(1000*minRate, at(1))
	require.Equal(t, at(1).Add(defaultStallTimeout), burst.deadline, "sending much at once does not move the deadline further")
}

// slowSender is a body whose bytes arrive when the test sends them.
type slowSender struct {
	*io.PipeReader
	send *io.PipeWriter
}

func newSender() slowSender {
	reader, writer := io.Pipe()
	return slowSender{reader, writer}
}

func (s slowSender) SetReadDeadline(deadline time.Time) error {
	if deadline.Equal(longAgo) {
		_ = s.send.CloseWithError(io.ErrNoProgress)
	}
	return nil
}

func TestTheSlowestSendersBodyIsEvicted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		evicted := prometheus.NewCounter(prometheus.CounterOpts{Name: "evicted"})
		all := newBodyMemory(4*size, evicted)
		results := map[string]chan error{}
		receive := func(name string, verified bool) slowSender {
			s, result := newSender(), make(chan error, 1)
			results[name] = result
			go func() {
				reserved := reservation{memory: all, progress: progress{timeout: defaultStallTimeout, verified: verified}, sender: s}
				defer reserved.release()
				_, err := readAll(s, size-1, &reserved)
				result <- err
			}()
			return s
		}
		say := func(s slowSender, n int) {
			_, err := s.send.Write(make([]byte, n))
			require.NoError(t, err)
			synctest.Wait()
		}
		provider := receive("provider", true)
		first, second, third := receive("first", false), receive("second", false), receive("third", false)
		for _, s := range []slowSender{provider, first, second, third} {
			say(s, 600_000) // most of it at once
			time.Sleep(time.Second)
		}
		say(first, 300_000) // it goes on
		fourth := receive("fourth", false)
		say(fourth, 600_000)
		require.ErrorIs(t, <-results["second"], errNoMemory, "it is the slowest unverified sender")
		for name, s := range map[string]slowSender{"provider": provider, "first": first, "third": third, "fourth": fourth} {
			require.NoError(t, s.send.Close())
			require.NoError(t, <-results[name], name)
		}
		synctest.Wait()
		require.EqualValues(t, 4*size, all.free)
		require.Zero(t, all.waiting.len())
	})
}

// While all strangers have sent something that is not read yet, only the provider's body waits.
func TestNoBodyOfAVerifiedSenderIsEvictedForOneOfAStranger(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	all := newBodyMemory(4*size, prometheus.NewCounter(prometheus.CounterOpts{Name: "evicted"}))
	provider := reservation{memory: all, progress: progress{verified: true}}
	busy := reservation{memory: all}
	require.True(t, provider.take(size))
	require.True(t, busy.take(3*size))
	all.waiting.add(&provider)
	stranger := reservation{memory: all}
	require.False(t, stranger.take(size))
	require.False(t, provider.evicted)
	again := reservation{memory: all, progress: progress{verified: true}}
	require.True(t, again.take(size))
	require.True(t, provider.evicted)
}
