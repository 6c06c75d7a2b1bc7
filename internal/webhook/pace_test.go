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
		sender := wait{patience: defaultPatience}
		sender.begin(began)
		second := 1
		for ; second < 60 && !sender.due.Before(at(second)); second++ {
			sender.received(row.rate, at(second))
		}
		if row.end == 0 {
			row.end = 60
		}
		require.Equal(t, row.end, second, name)
	}

	burst := wait{patience: defaultPatience}
	burst.begin(began)
	burst.received(1000*minRate, at(1))
	require.Equal(t, at(1).Add(defaultPatience), burst.due, "much at once does not buy time")
}

// sender is a body whose bytes come when they are sent, and whose reader heeds a deadline.
type sender struct {
	*io.PipeReader
	send *io.PipeWriter
}

func newSender() sender {
	reader, writer := io.Pipe()
	return sender{reader, writer}
}

func (s sender) SetReadDeadline(deadline time.Time) error {
	if deadline.Equal(longAgo) {
		_ = s.send.CloseWithError(io.ErrNoProgress)
	}
	return nil
}

func TestTheSlowestSenderLosesItsRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		evicted := prometheus.NewCounter(prometheus.CounterOpts{Name: "evicted"})
		all := newRoom(4*size, evicted)
		results := map[string]chan error{}
		receive := func(name string, verified bool) sender {
			s, result := newSender(), make(chan error, 1)
			results[name] = result
			go func() {
				share := share{of: all, wait: wait{patience: defaultPatience, verified: verified}, sender: s}
				defer share.giveBack()
				_, err := readAll(s, size-1, &share)
				result <- err
			}()
			return s
		}
		say := func(s sender, n int) {
			_, err := s.send.Write(make([]byte, n))
			require.NoError(t, err)
			synctest.Wait()
		}
		provider := receive("provider", true)
		first, second, third := receive("first", false), receive("second", false), receive("third", false)
		for _, s := range []sender{provider, first, second, third} {
			say(s, 600_000) // most of it at once
			time.Sleep(time.Second)
		}
		say(first, 300_000) // it goes on
		fourth := receive("fourth", false)
		say(fourth, 600_000)
		require.ErrorIs(t, <-results["second"], errNoRoom, "no stranger has been waited for longer")
		for name, s := range map[string]sender{"provider": provider, "first": first, "third": third, "fourth": fourth} {
			require.NoError(t, s.send.Close())
			require.NoError(t, <-results[name], name)
		}
		synctest.Wait()
		require.EqualValues(t, 4*size, all.free)
		require.Zero(t, all.waiting.len())
	})
}
