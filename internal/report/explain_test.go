package report_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/report"
)

// all is more than any list of the month has.
const all = 100

func TestWhatEachEventOfAMonthDidAndWhy(t *testing.T) {
	t.Parallel()
	bodies := month(t)
	ctx, shop := setup(t, len(bodies), bodies...)
	told := map[string]bool{}
	for _, body := range bodies {
		event, err := events.Parse([]byte(body))
		require.NoError(t, err)
		if told[event.ID] {
			continue
		}
		told[event.ID] = true
		story, err := shop.store.ExplainEvent(ctx, []string{event.ID}, all)
		require.NoError(t, err, event.ID)
		file := event.ID
		if len(file) > 60 {
			file = "not_plain"
		}
		var text, object bytes.Buffer
		require.NoError(t, report.NewEvent(ctx, shop.log, story).Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, report.NewEvent(ctx, shop.log, story).Write(&object, true))
		requireHarmless(t, object.Bytes())
		require.True(t, json.Valid(object.Bytes()))
		require.Equal(t, 1, bytes.Count(object.Bytes(), []byte("\n")), "one object on one line")
		if event.ID == "evt_pack" {
			requireGolden(t, file+".json", indented(t, object.Bytes()))
		}
	}
}

func indented(t *testing.T, object []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, object, "", "  "))
	return out.Bytes()
}

func TestWhatAUserHasAndFromWhat(t *testing.T) {
	t.Parallel()
	bodies := month(t)
	ctx, shop := setup(t, len(bodies), bodies...)
	for user, file := range map[string]string{"u_anna": "user_anna", "u_bob": "user_bob", "u\x1b]0;pwned\a \u202e": "user_not_plain"} {
		story, err := shop.store.ExplainUser(ctx, user, all)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), story.At, time.Minute)
		story.At = received
		var text, object bytes.Buffer
		require.NoError(t, report.User{UserStory: story}.Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, report.User{UserStory: story}.Write(&object, true))
		requireGolden(t, file+".json", indented(t, object.Bytes()))
	}
	story, err := shop.store.ExplainUser(ctx, "u_anna", 2)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, report.User{UserStory: story}.Write(&text, false))
	requireGolden(t, "user_anna_bounded.txt", text.Bytes())
}
