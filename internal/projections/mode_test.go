package projections

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestOnlyEventsOfTheAcceptedModeCount(t *testing.T) {
	t.Parallel()
	for event, takenBy := range map[string][]Mode{
		`"live"`:     {ModeAny, ModeLive},
		`"prod"`:     {ModeAny, ModeLive},
		`"test"`:     {ModeAny, ModeTest},
		`"sandbox"`:  {ModeAny, ModeTest},
		`"local"`:    {ModeAny, ModeTest},
		`"LIVE"`:     {ModeAny, ModeTest},
		`"tomorrow"`: {ModeAny, ModeTest},
		`""`:         {ModeAny},
		`null`:       {ModeAny},
	} {
		for _, mode := range []Mode{ModeAny, ModeLive, ModeTest} {
			want := "rejected wrong_mode"
			if slices.Contains(takenBy, mode) {
				want = "applied"
			}
			s := foldInto(t, NewState(), Rules{Mode: mode}, checkout("e1", `"mode":`+event+`,`+pack))
			require.Equal(t, map[string]string{"e1": want}, outcomes(s), "%s with PROVIDER_MODE=%s", event, mode)
		}
	}
}

func TestAnEventWithoutAModeCountsOnlyWithAny(t *testing.T) {
	t.Parallel()
	for mode, want := range map[Mode]string{ModeAny: "applied", ModeLive: "rejected wrong_mode", ModeTest: "rejected wrong_mode"} {
		require.Equal(t, map[string]string{"e1": want}, outcomes(foldInto(t, NewState(), Rules{Mode: mode}, checkout("e1", pack))))
	}
}

func TestProviderModeIsOneOfThree(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"any", "live", "test"} {
		mode, err := ParseMode(text)
		require.NoError(t, err)
		require.Equal(t, Mode(text), mode)
	}
	for _, text := range []string{"", "prod", "Live", "any "} {
		_, err := ParseMode(text)
		require.ErrorContains(t, err, "PROVIDER_MODE")
	}
}
