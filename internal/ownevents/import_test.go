package ownevents

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

var now = time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)

func importer(t testing.TB) Importer {
	sold, err := catalogue.Parse([]byte("version: 1\nproducts:\n  plan: {kind: subscription}\n  tool: {kind: pro}\n  pack: {kind: one_time, credits: 5}\n"))
	require.NoError(t, err)
	return Importer{Catalogue: sold, Exported: now.AddDate(0, 0, -1), Now: now}
}

const allColumns = "what,user,customer,subscription,payment,product,status,period_start,period_end,credits,expires,github_username,time\n"

func TestEachLineIsReadAsItWasMeant(t *testing.T) {
	t.Parallel()
	lines, faults := importer(t).Read(strings.NewReader(allColumns +
		"subscription,u1,c1,s1,,plan,active,2026-02-10,2026-03-10,,,,\n" +
		"balance,u1,c1,,,,,,,350,2026-09-01,,\n" +
		"licence,u1,c1,,t1,tool,,,,,,octocat,2025-06-20T09:30:00+02:00\n"))
	require.Empty(t, faults)
	require.Len(t, lines, 3)
	at := func(text string) time.Time { t, _ := time.Parse(time.RFC3339, text); return t }
	var read []events.Event
	for _, line := range lines {
		e, err := providers.Named("payfold").Parse(line.Event.Body(), "")
		require.NoError(t, err)
		read = append(read, e)
	}
	require.Equal(t, []any{events.Subscription, "s1", "active", "plan", at("2026-02-10T00:00:00Z"), at("2026-03-10T00:00:00Z"), at("2026-03-01T00:00:00Z")},
		[]any{read[0].Action, read[0].SubscriptionID, read[0].Status, read[0].Product, read[0].PeriodStart, read[0].PeriodEnd, read[0].OccurredAt})
	require.Equal(t, []any{true, int64(350), at("2026-09-01T00:00:00Z"), "c1"}, []any{read[1].Given, read[1].Credits.Value, read[1].Expires, read[1].Key})
	require.Equal(t, []any{events.Payment, "t1", "pro", "octocat", at("2025-06-20T07:30:00Z")},
		[]any{read[2].Action, read[2].Transaction, read[2].Kind, read[2].GitHubUser, read[2].OccurredAt})
}

// What editors and spreadsheets do to a file changes no event, so nothing is given twice.
func TestTheSameLinesAreTheSameEvents(t *testing.T) {
	t.Parallel()
	ids := func(text string) (all []string) {
		lines, faults := importer(t).Read(strings.NewReader(text))
		require.Empty(t, faults, text)
		for _, line := range lines {
			all = append(all, line.Event.ID+" "+line.Event.Payment)
		}
		return all
	}
	plain := ids("what,user,credits\nbalance,u1,5\nbalance,u2,6\n")
	for name, text := range map[string]string{
		"byte order mark": "\ufeffwhat,user,credits\nbalance,u1,5\nbalance,u2,6\n", "CRLF": "what,user,credits\r\nbalance,u1,5\r\nbalance,u2,6\r\n",
		"quotes": "\"what\",\"user\",\"credits\"\n\"balance\",\"u1\",\"5\"\n\"balance\",\"u2\",\"6\"", "semicolons": "what;user;credits\nbalance;u1;5\nbalance;u2;6\n",
		"columns": "credits,expires,user,what\n5,,u1,balance\n6,,u2,balance\n", "empty lines": "what,user,credits\n\nbalance,u1,5\n\nbalance,u2,6\n\n",
	} {
		require.Equal(t, plain, ids(text), name)
	}
	other := ids("what,user,credits\nbalance,u1,7\n")
	require.NotEqual(t, plain[0], other[0])
	require.Equal(t, strings.Fields(plain[0])[1], strings.Fields(other[0])[1], "it is the same payment, which grants once")
}

func TestEachFaultNamesItsLine(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"gift,u1,,,,,,,,5,,,":                                        `line 3: what is "gift", must be subscription, balance or licence`,
		"balance,,,,,,,,,5,,,":                                       "line 3: user is empty",
		"balance,u1,,,,,,,,,,,":                                      "line 3: credits is empty",
		"balance,u1,,,,,,,,-5,,,":                                    "line 3: credits is -5, must be 1 to 1000000000000",
		"balance,u1,,,,,,,,0,,,":                                     "line 3: credits is 0, must be 1 to 1000000000000",
		"balance,u1,,,,,,,,1.5,,,":                                   `line 3: credits is "1.5", which is not a whole number`,
		"balance,u1,,,,,,,,99999999999999999999,,,":                  `line 3: credits is "99999999999999999999", which is not a whole number`,
		"balance,u1,,,,,,,,5,2026-02-01,,":                           "line 3: expires is 2026-02-01, which is before the time of the line",
		"balance,u1,,,,,,,,5,2150-01-01,,":                           "line 3: expires is 2150-01-01, must be in the years 2000 to 2099",
		"balance,u1,,,,,,,,5,soon,,":                                 `line 3: expires is "soon", which is neither a day (2026-03-01) nor a time (2026-03-01T12:00:00Z)`,
		"balance,u1,,,,,,,,5,,,2026-03-03":                           "line 3: time is 2026-03-03T00:00:00Z, which is in the future",
		"balance,u1,,s1,,,,,,5,,,":                                   "line 3: a balance has no subscription",
		"balance,u\x001,,,,,,,,5,,,":                                 `line 3: user is "u\x001", which has a character that cannot be printed`,
		"balance,u1\ufeff,,,,,,,,5,,,":                               `line 3: user is "u1\ufeff", which has a character that cannot be printed`,
		"balance, u1,,,,,,,,5,,,":                                    `line 3: user is " u1", which begins or ends with a space`,
		"balance,u\xff1,,,,,,,,5,,,":                                 "line 3: user is not UTF-8",
		"balance,undefined,,,,,,,,5,,,":                              `line 3: the user is "undefined", which payfold reads as ""`,
		"balance," + strings.Repeat("x", 256) + ",,,,,,,,5,,,":       "line 3: user has 256 bytes, at most 255 are possible",
		"balance,good,,,,,,,,5,,,":                                   "line 3: line 2 is about the same balance",
		"balance,u1":                                                 "line 3: it has 2 fields, and the first line has 13",
		`balance,"u"1,,,,,,,,5,,,`:                                   `line 3: extraneous or missing " in quoted-field`,
		"subscription,u1,,s1,,nothing,active,,2026-03-10,,,,":        `line 3: the catalogue does not have the product "nothing"`,
		"subscription,u1,,s1,,pack,active,,2026-03-10,,,,":           `line 3: the product "pack" is of the kind one_time in the catalogue, and not a subscription`,
		"subscription,u1,,s1,,plan,canceled,,2026-03-10,,,,":         `line 3: status is "canceled", must be one of active, trialing, past_due, paused, scheduled_cancel`,
		"subscription,u1,,s1,,plan,active,,2026-02-10,,,,":           "line 3: the subscription is active, and its period had ended before the time of the line",
		"subscription,u1,,s1,,plan,active,2026-04-10,2026-03-10,,,,": "line 3: period_end is not after period_start",
		"licence,u1,,,t1,plan,,,,,,octocat,":                         `line 3: the product "plan" is of the kind subscription in the catalogue, and not a licence`,
		"licence,u1,,,t1,tool,,,,,,github.com/octocat,":              `line 3: the GitHub user is "github.com/octocat", which payfold reads as "octocat"`,
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			_, faults := importer(t).Read(strings.NewReader(allColumns + "balance,good,,,,,,,,5,,,\n" + line + "\n"))
			require.Len(t, faults, 1)
			require.Equal(t, want, faults[0].Error())
		})
	}
}

func TestAFileThatIsNoneIsRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                               "line 1: there is no first line with the names of the columns: EOF",
		"what,user,credits\n":            "line 1: no line follows the names of the columns",
		"user,credits\nu1,5\n":           "line 1: there is no column what, which is subscription, balance or licence",
		"what,user,user\n":               "line 1: the column user comes twice",
		"what,email\n":                   `line 1: there is no column "email"; the columns are credits, customer, expires, github_username, payment, period_end, period_start, product, status, subscription, time, user, what`,
		"\xff\xfew\x00h\x00a\x00t\x00":   "line 1: the file is UTF-16: save it as CSV in UTF-8",
		"what,user\nbalance,u1\n":        "line 2: there is no column credits",
		"what,user,credits\n\"balance,u": `line 2: extraneous or missing " in quoted-field`,
	} {
		_, faults := importer(t).Read(strings.NewReader(text))
		require.Len(t, faults, 1, text)
		require.Equal(t, want, faults[0].Error())
	}
	without := importer(t)
	without.Exported = time.Time{}
	_, faults := without.Read(strings.NewReader("what,user,credits\nbalance,u1,5\n"))
	require.EqualError(t, faults[0], "line 2: time is empty; --exported says when the file was exported")
}

func TestOneBadLineOfTenThousandIsFound(t *testing.T) {
	t.Parallel()
	text := "what,user,credits\n"
	for i := range 10_000 {
		credits := "5"
		if i == 7_777 {
			credits = "five"
		}
		text += fmt.Sprintf("balance,u%d,%s\n", i, credits)
	}
	lines, faults := importer(t).Read(strings.NewReader(text))
	require.Len(t, lines, 10_000)
	require.Equal(t, []Fault{{7_779, faults[0].Err}}, faults)
	require.EqualError(t, faults[0].Err, `credits is "five", which is not a whole number`)
}

// Whatever is in the file, what is sent is read as one event of the shop, and never as another user's.
func FuzzImport(f *testing.F) {
	f.Add([]byte(allColumns + "subscription,u1,c1,s1,,plan,active,2026-02-10,2026-03-10,,,,\nbalance,u1,,,,,,,,5,,,\nlicence,u1,,,,tool,,,,,,octo,\n"))
	f.Add([]byte("what;user;credits\r\nbalance;\"u;1\";5\r\n"))
	f.Add([]byte("\xef\xbb\xbfwhat,user,credits\nbalance,\x00,5"))
	m := importer(f)
	f.Fuzz(func(t *testing.T, file []byte) {
		lines, faults := m.Read(strings.NewReader(string(file)))
		if len(faults) > 0 {
			return
		}
		for _, line := range lines {
			e, err := providers.Named("payfold").Parse(line.Event.Body(), "")
			require.NoError(t, err)
			require.Equal(t, line.Event.User, e.UserID)
			require.NotEmpty(t, e.UserID)
			require.False(t, e.InvalidText || e.InvalidPayment)
			require.Equal(t, line.Event.ID, e.ID)
			require.Equal(t, line.Event.Credits, e.Credits.Value)
		}
	})
}
