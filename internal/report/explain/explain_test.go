package explain

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/golden"
	"github.com/payfold/payfold/internal/testenv/specification"
)

func TestMain(m *testing.M) { os.Exit(fixture.RunProperties(m)) }

// unbounded is a limit that is higher than the length of any list here, and a number of events that is
// higher than that of any log here.
const unbounded = 100

// requireGolden compares with a file in testdata.
func requireGolden(t *testing.T, file string, got []byte) {
	t.Helper()
	golden.RequireText(t, filepath.Join("testdata", file), got)
}

func TestEachEventOfAMonthIsExplained(t *testing.T) {
	t.Parallel()
	bodies := fixture.Month()
	ctx, shop := fixture.NewFolded(t, len(bodies), bodies...)
	explained := map[string]bool{}
	for _, body := range bodies {
		event, err := specification.Parse([]byte(body))
		require.NoError(t, err)
		if explained[event.ID] {
			continue
		}
		explained[event.ID] = true
		rows, err := ReadEvent(ctx, shop.Log, shop.Tables, event.ID, unbounded)
		require.NoError(t, err, event.ID)
		file := event.ID
		if len(file) > 60 {
			file = "not_plain"
		}
		var text, object bytes.Buffer
		require.NoError(t, rows.Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, rows.Write(&object, true))
		golden.RequireNoTerminalCommands(t, object.Bytes())
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
	ctx, shop := fixture.NewFolded(t, 1,
		`{"id":"e1","eventType":"checkout.completed","object":{"provider_payment_id":"tx_1","metadata":{"kind":"pro","user_id":"u1","github":"octo"}}}`)
	_, err := shop.Tables.Pool().Exec(ctx, `insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, activated_at, due_at, changed_at)
		values ('u1', 'acme/tool', 'tx_1', 'octo', 'pending', $1, $1, $1), ('u2', 'acme/tool', 'tx_2', 'hubot', 'failed', $1, $1, $1)`, fixture.Received)
	require.NoError(t, err)
	rows, err := ReadUser(ctx, shop.Tables, "u1", Place{}, 10)
	require.NoError(t, err)
	var text, object bytes.Buffer
	require.NoError(t, rows.Write(&text, false))
	require.Regexp(t, `INVITATIONS of this user's purchases\n.*\n +acme/tool +tx_1 +octo +pending +waits for its turn \(quota, pause or no credentials\)`, text.String())
	require.NotContains(t, text.String(), "hubot")
	require.NoError(t, rows.Write(&object, true))
	require.Contains(t, object.String(), `"invitations":[{"user_id":"u1","repository":"acme/tool","provider_payment_id":"tx_1"`)
}

func TestWhatAUserHasIsExplained(t *testing.T) {
	t.Parallel()
	bodies := fixture.Month()
	ctx, shop := fixture.NewFolded(t, len(bodies), bodies...)
	for user, file := range map[string]string{"u_anna": "user_anna", "u_bob": "user_bob", "u\x1b]0;pwned\a \u202e": "user_not_plain"} {
		rows, err := ReadUser(ctx, shop.Tables, user, Place{}, unbounded)
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), rows.At, time.Minute)
		rows.At = fixture.Received
		var text, object bytes.Buffer
		require.NoError(t, rows.Write(&text, false))
		requireGolden(t, file+".txt", text.Bytes())
		require.NoError(t, rows.Write(&object, true))
		requireGolden(t, file+".json", indented(t, object.Bytes()))
	}
	rows, err := ReadUser(ctx, shop.Tables, "u_anna", Place{}, 2)
	require.NoError(t, err)
	var text bytes.Buffer
	require.NoError(t, rows.Write(&text, false))
	requireGolden(t, "user_anna_bounded.txt", text.Bytes())
}

func TestWithoutTablesThereIsNoAnswer(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 0)
	for _, sql := range []string{"drop schema portal cascade", "create schema portal", "drop schema payfold cascade"} {
		_, err := shop.Tables.Pool().Exec(ctx, sql)
		require.NoError(t, err)
		_, err = ReadUser(ctx, shop.Tables, "u1", Place{}, 10)
		require.ErrorIs(t, err, store.ErrNotPrepared, sql)
	}
}
