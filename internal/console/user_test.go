package console_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/world"
)

// answeredAt is the moment of an answer.
var answeredAt = regexp.MustCompile(`"at":"[^"]*"`)

func TestACustomerAsJSONIsWhatTheCommandSays(t *testing.T) {
	t.Parallel()
	servers, w := serveBoth(t)
	server := servers[true]
	giveOddIDs(t, w)
	tables := w.Open(t.Context(), t, store.LiveSchema)
	rows, err := w.DB.Query(t.Context(), "select user_id from portal.processed_event where user_id is not null group by 1 order by count(*) desc limit 15")
	require.NoError(t, err)
	users := append([]string{}, odd...)
	for rows.Next() {
		var user string
		require.NoError(t, rows.Scan(&user))
		users = append(users, user)
	}
	require.NoError(t, rows.Err())
	pages := 0
	for _, user := range users {
		for before := int64(0); ; {
			answer, err := explain.ReadUser(t.Context(), tables, user, explain.Place{Before: before}, 3)
			require.NoError(t, err)
			var want bytes.Buffer
			require.NoError(t, answer.Write(&want, true))
			asked := url.Values{"id": {user}, "limit": {"3"}}
			if before > 0 {
				asked.Set("before", strconv.FormatInt(before, 10))
			}
			_, got := get(t, server, userPath(user)+asked.Encode(), "Accept", "application/json")
			require.Equal(t, answeredAt.ReplaceAllString(want.String(), ""), answeredAt.ReplaceAllString(got, ""))
			pages++
			var page struct {
				Next int64 `json:"next_before"`
			}
			require.NoError(t, json.Unmarshal([]byte(got), &page))
			if before = page.Next; before == 0 {
				break
			}
		}
	}
	require.Greater(t, pages, len(users), "one has several")
}

// userPath is the path of a customer, up to its values.
func userPath(user string) string {
	if user == "." || user == ".." || user == "/" {
		return "/users/?"
	}
	return "/users/" + url.PathEscape(user) + "?"
}

// giveOddIDs adds an event for each odd id, which is its own, its customer's, and its payment's.
func giveOddIDs(t *testing.T, w *world.World) {
	t.Helper()
	_, err := w.DB.Exec(t.Context(), `insert into portal.processed_event (event_id, stream_seq, event_type, action, user_id, subscription_id, provider_payment_id, outcome, occurred_at, received_at)
		select id, 1000000 + i, 'none.such', 'none', id, id, id, 'ignored', now(), now() from unnest($1::text[]) with ordinality as of(id, i)`, odd)
	require.NoError(t, err)
}

func TestTheOlderHistoryOfACustomerIsALinkAway(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	const customer = "regular"
	_, err := w.DB.Exec(t.Context(), `insert into portal.processed_event (event_id, stream_seq, event_type, action, kind, user_id, provider_payment_id, outcome, occurred_at, received_at)
		select 'regular' || i, 1000000 + i, 'checkout.completed', 'payment', 'one_time', $1, 'regular' || i, 'applied', now(), now() from generate_series(1, 250) i`, customer)
	require.NoError(t, err)
	next := regexp.MustCompile(`id="next" href="([^"]*)"`)
	seen := 0
	for path := "/users/" + customer; path != ""; {
		answer, text := get(t, server, path)
		require.Equal(t, http.StatusOK, answer.StatusCode)
		for range regexp.MustCompile(` · <a class="id" href="/events/regular`).FindAllString(text, -1) {
			seen++
		}
		older := next.FindStringSubmatch(text)
		if older == nil {
			break
		}
		require.Contains(t, text, fmt.Sprint(250-seen, " earlier events"))
		path = older[1]
	}
	require.Equal(t, 250, seen)
	for _, before := range []string{"0", "x", "1:5", "9999999999999999999"} {
		answer, _ := get(t, server, "/users/"+customer+"?before="+before)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, before)
	}
}

func TestACustomersPageShowsWhatIsLeftAndWhatWasSpent(t *testing.T) {
	t.Parallel()
	servers, w := serveBoth(t)
	var user, payment string
	require.NoError(t, w.DB.QueryRow(t.Context(), `select user_id, provider_payment_id from portal.credit_grant
		where granted - reversed > 9 and kind = 'one_time' and expires_at is null order by 1, 2 limit 1`).Scan(&user, &payment))
	_, err := w.DB.Exec(t.Context(), "select wallet.spend($1, 4, 'picture <7>', 'of Ada'), wallet.hold($1, 1000000000, 'much', '1 hour')", user)
	require.NoError(t, err)
	for personal, server := range servers {
		_, text := get(t, server, userPath(user))
		require.Contains(t, text, "<td>picture &lt;7&gt;</td>")
		require.Contains(t, text, "refused: not enough credits")
		require.Contains(t, text, "What is left of each grant")
		require.Equal(t, personal, strings.Contains(text, "of Ada"))
		_, object := get(t, server, userPath(user), "Accept", "application/json")
		require.Equal(t, personal, strings.Contains(object, "of Ada"))
		require.Contains(t, object, `"key":"picture`)
		_, text = get(t, server, "/payments/"+url.PathEscape(payment))
		require.Contains(t, text, "What is left of them")
	}

	_, err = w.DB.Exec(t.Context(), "delete from portal.credit_ledger where user_id = $1", user)
	require.NoError(t, err)
	_, text := get(t, servers[true], userPath(user))
	require.Contains(t, text, "can spend nothing, and owes <b>4 credits</b>")
	require.Contains(t, text, "which the tables do not grant")
}

func TestACustomersPageCanBeAskedByDate(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	_, err := w.DB.Exec(t.Context(), `insert into portal.processed_event (event_id, stream_seq, event_type, action, kind, user_id, provider_payment_id, outcome, occurred_at, received_at)
		select 'dated' || i, 1000000 + i, 'checkout.completed', 'payment', 'subscription', 'dated', 'dated', 'applied', time - interval '1 day', time
		from generate_series(1, 3) i, lateral (select '2026-01-01 12:00Z'::timestamptz + i * interval '1 month') one (time)`)
	require.NoError(t, err)
	_, err = w.DB.Exec(t.Context(), `insert into portal.credit_ledger (provider_payment_id, line, user_id, kind, entry, delta, available_at, event_id, occurred_at, stream_seq)
		select 'dated', i, 'dated', 'subscription', 'grant', 10, '2026-02-01 12:00Z'::timestamptz + i * interval '1 month', 'dated1', '2026-02-01 12:00Z', 1000001 from generate_series(1, 12) i`)
	require.NoError(t, err)
	for asked, events := range map[string][]string{
		"":                                  {"dated3", "dated2", "dated1"},
		"?before=2026-03-01":                {"dated1"},
		"?before=2026-03-01T12:00":          {"dated1"},
		"?before=2026-03-01&clock=provider": {"dated2", "dated1"},
		"?before=2026-02-28T12:00&clock=provider": {"dated1"},
	} {
		answer, text := get(t, server, "/users/dated"+asked)
		require.Equal(t, http.StatusOK, answer.StatusCode, asked)
		var shown []string
		for _, found := range regexp.MustCompile(` · <a class="id" href="/events/(dated\d)`).FindAllStringSubmatch(text, -1) {
			shown = append(shown, found[1])
		}
		require.Equal(t, events, shown, asked)
		require.Contains(t, text, `<b class="change">&#43;120 credits of subscriptions</b> <span class="quiet">in 12 lines</span>`, asked)
	}
	answer, _ := get(t, server, "/users/dated?before=2026-01-31")
	require.Equal(t, http.StatusNotFound, answer.StatusCode, "nothing was known of this customer")
	for _, bad := range []string{"2026-02-30", "9999-01-01", "2026-03-01&clock=mine"} {
		answer, _ := get(t, server, "/users/dated?before="+bad)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, bad)
	}
}
