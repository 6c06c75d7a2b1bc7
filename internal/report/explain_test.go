package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
)

func TestEachEventOfAMonthIsExplained(t *testing.T) {
	t.Parallel()
	bodies := month(t)
	ctx, shop := setup(t, len(bodies), bodies...)
	explained := map[string]bool{}
	for _, body := range bodies {
		event, err := events.Parse([]byte(body))
		require.NoError(t, err)
		if explained[event.ID] {
			continue
		}
		explained[event.ID] = true
		rows, err := readEvent(ctx, shop.database, []string{event.ID}, unbounded)
		require.NoError(t, err, event.ID)
		file := event.ID
		if len(file) > 60 {
			file = "not_plain"
		}
		var text, object bytes.Buffer
		require.NoError(t, newEvent(ctx, shop.log, rows).Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, newEvent(ctx, shop.log, rows).Write(&object, true))
		requireNoTerminalCommands(t, object.Bytes())
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

func TestAUserShowsTheInvitationOfEachPurchase(t *testing.T) {
	t.Parallel()
	ctx, shop := setup(t, 1,
		`{"id":"e1","eventType":"checkout.completed","object":{"provider_payment_id":"tx_1","metadata":{"kind":"pro","user_id":"u1","github":"octo"}}}`)
	_, err := shop.database.Pool().Exec(ctx, `insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, activated_at, due_at, changed_at)
		values ('u1', 'acme/tool', 'tx_1', 'octo', 'pending', $1, $1, $1), ('u2', 'acme/tool', 'tx_2', 'hubot', 'failed', $1, $1, $1)`, received)
	require.NoError(t, err)
	rows, err := readUser(ctx, shop.database, "u1", 0, 10)
	require.NoError(t, err)
	var text, object bytes.Buffer
	require.NoError(t, User{UserRows: rows}.Write(&text, false))
	require.Regexp(t, `INVITATIONS of this user's purchases\n.*\n +tx_1 +octo +acme/tool +pending +2021-03-01 12:00:00Z +waits for its turn`, text.String())
	require.NotContains(t, text.String(), "hubot")
	require.NoError(t, User{UserRows: rows}.Write(&object, true))
	require.Contains(t, object.String(), `"invitations":[{"user_id":"u1","repository":"acme/tool","provider_payment_id":"tx_1"`)
}

func TestWhatAUserHasIsExplained(t *testing.T) {
	t.Parallel()
	bodies := month(t)
	ctx, shop := setup(t, len(bodies), bodies...)
	for user, file := range map[string]string{"u_anna": "user_anna", "u_bob": "user_bob", "u\x1b]0;pwned\a \u202e": "user_not_plain"} {
		rows, err := readUser(ctx, shop.database, user, 0, unbounded)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), rows.At, time.Minute)
		rows.At = received
		var text, object bytes.Buffer
		require.NoError(t, User{UserRows: rows}.Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, User{UserRows: rows}.Write(&object, true))
		requireGolden(t, file+".json", indented(t, object.Bytes()))
	}
	rows, err := readUser(ctx, shop.database, "u_anna", 0, 2)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, User{UserRows: rows}.Write(&text, false))
	requireGolden(t, "user_anna_bounded.txt", text.Bytes())
}
