package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
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
		story, err := readEvent(ctx, shop.store, []string{event.ID}, all)
		require.NoError(t, err, event.ID)
		file := event.ID
		if len(file) > 60 {
			file = "not_plain"
		}
		var text, object bytes.Buffer
		require.NoError(t, newEvent(ctx, shop.log, story).Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, newEvent(ctx, shop.log, story).Write(&object, true))
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

func TestAUserIsToldOfWithTheInvitationsOfEachPurchase(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 1,
		`{"id":"e1","eventType":"checkout.completed","object":{"provider_payment_id":"tx_1","metadata":{"kind":"pro","user_id":"u1","github":"octo"}}}`)
	db, err := pgx.Connect(ctx, shop.dsn)
	require.NoError(t, err)
	defer db.Close(ctx)
	_, err = db.Exec(ctx, `insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, activated_at, due_at, changed_at)
		values ('u1', 'acme/tool', 'tx_1', 'octo', 'pending', $1, $1, $1), ('u2', 'acme/tool', 'tx_2', 'hubot', 'failed', $1, $1, $1)`, received)
	require.NoError(t, err)
	story, err := readUser(ctx, shop.store, "u1", 10)
	require.NoError(t, err)
	var text, object bytes.Buffer
	require.NoError(t, User{UserStory: story}.Write(&text, false))
	require.Regexp(t, `INVITATIONS of this user's purchases\n.*\n +tx_1 +octo +acme/tool +pending +2021-03-01 12:00:00Z +waits for its turn`, text.String())
	require.NotContains(t, text.String(), "hubot")
	require.NoError(t, User{UserStory: story}.Write(&object, true))
	require.Contains(t, object.String(), `"invitations":[{"user_id":"u1","repository":"acme/tool","provider_payment_id":"tx_1"`)
}

func TestWhatAUserHasAndFromWhat(t *testing.T) {
	t.Parallel()
	bodies := month(t)
	ctx, shop := setup(t, len(bodies), bodies...)
	for user, file := range map[string]string{"u_anna": "user_anna", "u_bob": "user_bob", "u\x1b]0;pwned\a \u202e": "user_not_plain"} {
		story, err := readUser(ctx, shop.store, user, all)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), story.At, time.Minute)
		story.At = received
		var text, object bytes.Buffer
		require.NoError(t, User{UserStory: story}.Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, User{UserStory: story}.Write(&object, true))
		requireGolden(t, file+".json", indented(t, object.Bytes()))
	}
	story, err := readUser(ctx, shop.store, "u_anna", 2)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, User{UserStory: story}.Write(&text, false))
	requireGolden(t, "user_anna_bounded.txt", text.Bytes())
}
