package console_test

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestAListInCSVHasEveryRowOfThePage(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	for _, list := range []string{"customers", "payments", "subscriptions"} {
		t.Run(list, func(t *testing.T) {
			var shown struct {
				Items []json.RawMessage `json:"items"`
				Count int               `json:"count"`
			}
			_, text := get(t, server, "/"+list+"?limit=1000", "Accept", "application/json")
			require.NoError(t, json.Unmarshal([]byte(text), &shown))
			require.NotEmpty(t, shown.Items)
			require.Len(t, shown.Items, shown.Count)
			answer, text := get(t, server, "/"+list+"?format=csv&limit=1")
			require.Equal(t, `attachment; filename="`+list+`.csv"`, answer.Header.Get("Content-Disposition"))
			require.Equal(t, strings.Count(text, "\n"), strings.Count(text, "\r\n"))
			rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
			require.NoError(t, err)
			require.Len(t, rows, shown.Count+1, "with the header")
			_, html := get(t, server, "/"+list)
			require.Contains(t, html, "/"+list+"?format=csv")
		})
	}
	var sum int64
	require.NoError(t, w.DB.QueryRow(t.Context(), "select coalesce(sum(amount), 0)::bigint from portal.payment").Scan(&sum))
	_, text := get(t, server, "/payments?format=csv")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, []string{"amount", "refunded_amount", "currency"}, rows[0][5:8])
	for _, row := range rows[1:] {
		var amount int64
		_, _ = fmt.Sscan(row[5], &amount)
		sum -= amount
	}
	require.Zero(t, sum)
}

func TestTheEventsOfAFilterInCSVAreThoseOfItsPages(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	for _, filter := range []string{"", "outcome=rejected", "type=checkout.*&kind=one_time", "user=nobody"} {
		var shown struct {
			Items []struct {
				ID  string `json:"event_id"`
				Why string `json:"why"`
			} `json:"items"`
			Next *int64 `json:"next_before"`
		}
		_, body := get(t, server, "/events?limit=1000&"+filter, "Accept", "application/json")
		require.NoError(t, json.Unmarshal([]byte(body), &shown))
		require.Nil(t, shown.Next)
		rows := csvOf(t, server, "/events?format=csv&limit=1&"+filter, "events")
		require.Len(t, rows, len(shown.Items)+1, "with the header")
		for i, e := range shown.Items {
			require.Equal(t, []string{e.ID, e.Why}, []string{rows[i+1][0], rows[i+1][14]})
		}
	}
	_, html := get(t, server, "/events?outcome=rejected&before=5")
	require.Contains(t, html, `href="/events?format=csv&amp;outcome=rejected"`)
}

func TestThePurchasesThatGrantedNothingAreInCSVWithTheirRepair(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	for _, sql := range []string{
		"update portal.processed_event set outcome = 'rejected', reason = 'missing_user' where provider_payment_id is not null",
		"update portal.payment_facts set known = false, user_id = null, product_key = 'prod_1' where paid",
	} {
		_, err := w.DB.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	var shown struct {
		Ungranted []struct {
			Count     int `json:"count"`
			Purchases []struct {
				ID     string `json:"provider_payment_id"`
				Repair string `json:"repair"`
			} `json:"purchases"`
		} `json:"ungranted"`
	}
	_, body := get(t, server, "/rejected", "Accept", "application/json")
	require.NoError(t, json.Unmarshal([]byte(body), &shown))
	require.NotEmpty(t, shown.Ungranted)
	repairs := map[string]string{}
	for _, row := range csvOf(t, server, "/rejected?format=csv", "rejected")[1:] {
		repairs[row[0]] = row[4]
	}
	count, onPage := 0, 0
	for _, group := range shown.Ungranted {
		count, onPage = count+group.Count, onPage+len(group.Purchases)
		for _, one := range group.Purchases {
			require.Contains(t, repairs, one.ID)
			require.Equal(t, one.Repair, repairs[one.ID])
		}
	}
	require.Greater(t, count, onPage)
	require.Len(t, repairs, count, "also those that the page leaves out")
}

func TestTheInvitationsInCSVAreMasked(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	_, err := w.DB.Exec(t.Context(), `insert into payfold.invitation
		(user_id, repository, provider_payment_id, github_username, status, reason, activated_at, due_at, changed_at)
		select 'u' || i, 'acme/tool', 'p' || i, 'somebody', case when i = 1 then 'failed' else 'pending' end, 'GitHub does not know somebody',
		now(), now(), now() from generate_series(1, 3) i`)
	require.NoError(t, err)
	require.Len(t, csvOf(t, server, "/invitations?format=csv", "invitations"), 4, "with the header")
	rows := csvOf(t, server, "/invitations?format=csv&status=failed", "invitations")
	require.Len(t, rows, 2)
	require.Equal(t, []string{"u1", "acme/tool", "p1", "s•••", "failed"}, rows[1][:5])
	require.NotContains(t, strings.Join(rows[1], " "), "somebody")
	_, html := get(t, server, "/invitations?status=failed")
	require.Contains(t, html, `href="/invitations?format=csv&amp;status=failed"`)
}

// csvOf returns the rows of a download.
func csvOf(t *testing.T, server, path, name string) [][]string {
	t.Helper()
	answer, body := get(t, server, path)
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
	require.Equal(t, `attachment; filename="`+name+`.csv"`, answer.Header.Get("Content-Disposition"))
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	require.NoError(t, err)
	return rows
}

func TestACellOfCSVIsNoFormula(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	hostile := []string{"=1+1", "+1", "-1", "@sum", "\tx", "a,\"b\"", "a\r\nb"}
	for i, id := range hostile {
		_, err := w.DB.Exec(t.Context(), `insert into portal.subscription_facts (subscription_id, provider, status, product_key, stream_seq)
			values ($1, 'provider', 'past_due', $2, 0)`, fmt.Sprint("hostile", i), id)
		require.NoError(t, err)
	}
	_, text := get(t, server, "/subscriptions?format=csv&status=past_due")
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	require.NoError(t, err)
	var cells []string
	for _, row := range rows {
		if strings.HasPrefix(row[0], "hostile") {
			cells = append(cells, row[4])
		}
	}
	require.Equal(t, []string{"'=1+1", "'+1", "'-1", "'@sum", `\tx`, `a,"b"`, `a\r\nb`}, cells)
}

func TestAListRefusesWhatItCannotFilter(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	for _, path := range []string{
		"/payments?status=past_due", "/payments?refunded=perhaps", "/payments?after=x", "/payments?format=csv&after=x", "/payments?format=xml",
		"/subscriptions?status=late", "/subscriptions?ends_before=soon", "/customers?provider=x", "/customers?nothing=1",
		"/events?nothing=1", "/events?format=xml", "/events?format=csv&from=yesterday", "/rejected?format=xml", "/rejected?limit=1",
		"/invitations?format=xml", "/invitations?nothing=1", "/measures?nothing=1", "/?nothing=1", "/projectors?nothing=1", "/schemas?limit=1",
		"/events/evt_1?nothing=1", "/users/u_1?from=2026-01-01", "/users/u_1?limit=0", "/payments/p_1?limit=x", "/search?q=x&limit=5",
	} {
		answer, text := get(t, server, path)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, path)
		require.Contains(t, text, "The address cannot be read", path)
	}
}

func TestAFilterNamesTheZoneInWhichItReadsTimes(t *testing.T) {
	t.Parallel()
	config, _ := shop(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	config.TimeZone = berlin
	server := run(t, config)
	for path, label := range map[string]string{
		"/events": "Received from", "/payments": "Paid from", "/subscriptions": "Status since", "/customers": "Period ends before",
	} {
		_, text := get(t, server, path)
		require.Contains(t, text, label+" (Europe/Berlin)<input", path)
		require.NotContains(t, text, "(UTC)", path)
	}
}

func TestWhoIsPastDueIsOneClick(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	_, err := w.DB.Exec(t.Context(), `insert into portal.subscription_facts (subscription_id, provider, user_id, status, stream_seq)
		values ('late', 'provider', 'late_customer', 'past_due', 0)`)
	require.NoError(t, err)
	for _, path := range []string{"/subscriptions", "/customers"} {
		_, text := get(t, server, path)
		require.Contains(t, text, `<a href="/subscriptions?status=past_due">Who is past due?</a>`)
	}
	_, text := get(t, server, "/subscriptions?status=past_due")
	require.Contains(t, text, `href="/users/late_customer"`)
	require.Contains(t, text, `<a href="/subscriptions?status=active">Who pays?</a>`)
}

func TestMeasuresInCSVHaveOneRowForEachNumber(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	answer, body := get(t, server, "/measures?by=month&format=csv")
	require.Equal(t, http.StatusOK, answer.StatusCode, body)
	require.Equal(t, `attachment; filename="measures.csv"`, answer.Header.Get("Content-Disposition"))
	rows, err := csv.NewReader(strings.NewReader(body)).ReadAll()
	require.NoError(t, err)
	require.Equal(t, "measure from to currency of value", strings.Join(rows[0], " "))
	require.Greater(t, len(rows), 12)
	for _, path := range []string{"/measures?format=xml", "/measures?format=csv&from=yesterday"} {
		answer, _ := get(t, server, path)
		require.Equal(t, http.StatusBadRequest, answer.StatusCode, path)
	}
}
