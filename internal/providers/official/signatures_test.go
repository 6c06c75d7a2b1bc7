package official

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWhatTheProvidersSignIsTakenOnce(t *testing.T) {
	t.Parallel()
	w := setup(t)
	eachSender(t, senders, func(t *testing.T, s sender) {
		body, id := s.event("once")
		header := s.sign(t, body, id, time.Now(), older)
		require.Equal(t, accepted, w.deliver(t, s, body, header))
		require.Equal(t, duplicate, w.deliver(t, s, body, header))
		again := s.sign(t, body, id, time.Now().Add(-time.Minute), older)
		require.Equal(t, duplicate, w.deliver(t, s, body, again), "a retry is signed again")
		if s.verifies {
			soon := s.sign(t, body, id, soon(), older)
			require.Empty(t, official.verify(t, s.name, body, soon, s.secret(older)))
		}
	})
}

func TestWhatTheProvidersDidNotSignIsRefused(t *testing.T) {
	t.Parallel()
	w := setup(t)
	eachSender(t, senders, func(t *testing.T, s sender) {
		body, id := s.event("forged")
		header := s.sign(t, body, id, time.Now(), older)
		for _, at := range []int{0, len(body) / 2, len(body) - 1} {
			changed := []byte(body)
			changed[at] ^= 1
			require.Equal(t, forged(s), w.deliver(t, s, string(changed), header), at)
		}
		require.Equal(t, forged(s), w.deliver(t, s, body, s.sign(t, body, id, time.Now(), foreign)))
		require.Equal(t, forged(s), w.deliver(t, s, body, s.sign(t, body, id, time.Now(), newer)), "before the rotation")

		stripped := header.Clone()
		stripped.Del(s.header)
		require.Equal(t, unsigned(s), w.deliver(t, s, body, stripped))

		want := forged(s)
		if s.provider == "provider" { // its header may come several times
			want = accepted
		}
		for name := range header {
			doubled := header.Clone()
			doubled[name] = append(doubled[name], doubled[name]...)
			require.Equal(t, want, w.deliver(t, s, body, doubled), name)
		}
		if want != accepted {
			require.Equal(t, accepted, w.deliver(t, s, body, header), "nothing of it was stored")
		}
	})
}

func TestASignedTimeMustBeWithinFiveMinutes(t *testing.T) {
	t.Parallel()
	w := setup(t)
	eachSender(t, senders, func(t *testing.T, s sender) {
		// The clock goes on between the signature and its check: send tries again if that took too long to say anything.
		send := func(from time.Duration) answer {
			for attempt := 0; ; attempt++ {
				body, id := s.event(fmt.Sprintf("%s_%d", from, attempt))
				now := time.Now().Truncate(time.Second)
				got := w.deliver(t, s, body, s.sign(t, body, id, now.Add(from), older))
				if time.Since(now) < 2*time.Second {
					return got
				}
			}
		}
		if !s.times {
			require.Equal(t, accepted, send(-time.Hour))
			return
		}
		require.Equal(t, wrongTime, send(-301*time.Second))
		require.Equal(t, wrongTime, send(302*time.Second))
		require.Equal(t, accepted, send(-298*time.Second))
		require.Equal(t, accepted, send(300*time.Second))
	})
}

func TestADeliveryOfAnotherProviderIsNamed(t *testing.T) {
	t.Parallel()
	w := setup(t)
	eachSender(t, senders, func(t *testing.T, s sender) {
		body, id := s.event("foreign")
		for _, other := range senders {
			if other.provider == s.provider {
				continue
			}
			want := unsigned(s)
			want.text += "; the delivery has " + strings.ToLower(other.header)
			if reads(s, other.header) {
				want = forged(s)
			}
			require.Equal(t, want, w.deliver(t, s, body, other.sign(t, body, id, time.Now(), older)), other.name)
		}
	})
}

func TestASecretIsReplacedWithoutAGap(t *testing.T) {
	t.Parallel()
	w := setup(t)
	send := func(name string, want func(s sender) answer, which ...int) {
		t.Helper()
		for _, s := range senders {
			if len(which) == 1 || s.times {
				body, id := s.event(name)
				require.Equal(t, want(s), w.deliver(t, s, body, s.sign(t, body, id, time.Now(), which...)), "%s %s", s.name, name)
			}
		}
	}
	taken := func(sender) answer { return accepted }

	send("before-old", taken, older)
	send("before-new", forged, newer)
	send("before-both", taken, newer, older)

	w.restart(t, newer, older)
	send("during-old", taken, older)
	send("during-new", taken, newer)
	send("during-both", taken, older, newer)
	send("during-both-the-other-way-round", taken, newer, older)
	send("during-neither", forged, foreign)

	w.restart(t, newer)
	send("after-old", forged, older)
	send("after-new", taken, newer)
	send("after-both", taken, older, newer)
}

func TestTheProvidersPackagesAcceptWhatIsSignedHere(t *testing.T) {
	t.Parallel()
	signedHere := slices.DeleteFunc(slices.Clone(senders), func(s sender) bool { return s.another })
	eachSender(t, signedHere, func(t *testing.T, s sender) {
		secret, err := s.of().NewSecret(s.secret(older))
		require.NoError(t, err)
		body, id := s.event("here")
		at := soon()
		header := s.of().Sign(secret, id, []byte(body), at)
		require.Equal(t, s.sign(t, body, id, at, older), header, "the same bytes as the provider's")
		if s.verifies {
			require.Empty(t, official.verify(t, s.name, body, header, s.secret(older)))
			require.NotEmpty(t, official.verify(t, s.name, body+" ", header, s.secret(older)))
			require.NotEmpty(t, official.verify(t, s.name, body, header, s.secret(foreign)))
		}
	})
}

// soon is a time that no package refuses for a while: Paddle's refuses what was signed more than five seconds ago.
func soon() time.Time { return time.Now().Add(time.Minute) }
