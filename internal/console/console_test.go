package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/console"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/testenv"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/wait"
	"github.com/payfold/payfold/internal/testenv/world"
)

func TestMain(m *testing.M) { os.Exit(testenv.RunWithPostgres(m)) }

// everybody may look.
type everybody struct{}

func (everybody) Protect(pages http.Handler) http.Handler { return pages }

func (everybody) HasSession(context.Context) bool { return false }

// nobody may look.
type nobody struct{ everybody }

func (nobody) Protect(http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
}

// shop returns the configuration of a console over the log of a shop, all of which is applied.
func shop(t *testing.T) (console.Config, *world.World) {
	t.Helper()
	ctx, w := world.New(t)
	w.Project(ctx, t, 100)
	return console.Config{Log: w.Log, Tables: w.Open(ctx, t, "portal"), Guard: everybody{}, Version: "test", Logger: testenv.Logger(t)}, w
}

// serve returns a console over a shop.
func serve(t *testing.T) (url string, w *world.World) {
	t.Helper()
	config, w := shop(t)
	return run(t, config), w
}

// serveBoth returns two consoles over one shop, by whether they show personal data.
func serveBoth(t *testing.T) (urls map[bool]string, w *world.World) {
	t.Helper()
	config, w := shop(t)
	urls = map[bool]string{false: run(t, config)}
	config.ShowPersonalData = true
	urls[true] = run(t, config)
	return urls, w
}

// run runs a console until the test ends.
func run(t testing.TB, config console.Config) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	running, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- console.New(config).Run(running, listener) }()
	t.Cleanup(func() {
		end()
		require.NoError(t, <-ended)
	})
	return "http://" + listener.Addr().String()
}

func get(t *testing.T, server string, path string, headers ...string) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+path, nil)
	require.NoError(t, err)
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	return answer, heading.ReplaceAllString(string(text), "")
}

// heading is what each cell has for narrow windows.
var heading = regexp.MustCompile(` data-label="[^"]*"`)

// pipe is a listener with one connection.
type pipe chan net.Conn

func (p pipe) Accept() (net.Conn, error) {
	if conn, open := <-p; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (p pipe) Close() error { close(p); return nil }

func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }

func TestAClientThatReadsNoAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe() // without a buffer, so the answer waits for its reader
		listener := make(pipe, 1)
		listener <- server
		running, end := context.WithCancel(t.Context())
		defer end()
		go func() {
			_ = console.New(console.Config{Guard: everybody{}, Logger: testenv.Logger(t)}).Run(running, listener)
		}()
		_, err := io.WriteString(client, "GET /static/style.css HTTP/1.1\r\nHost: console\r\n\r\n")
		require.NoError(t, err)
		time.Sleep(time.Hour) // by the clock of the test, which runs ahead
		answer, err := io.ReadAll(client)
		require.NoError(t, err)
		require.Empty(t, string(answer))
	})
}

func TestEveryPageHasAStrictPolicy(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	for _, path := range []string{"/projectors", "/events", "/nothing", "/events/unknown", "/static/style.css", "/static/console.js"} {
		answer, text := get(t, server, path)
		require.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'", path)
		require.Equal(t, "nosniff", answer.Header.Get("X-Content-Type-Options"), path)
		require.NotContains(t, text, "<script>", path)
		require.NotContains(t, text, " style=", path)
		require.NotRegexp(t, `(src|href)="(https?:)?//`, text, path)
	}
	answer, _ := get(t, run(t, console.Config{Guard: nobody{}, Logger: testenv.Logger(t)}), "/")
	require.Equal(t, http.StatusForbidden, answer.StatusCode)
	require.Contains(t, answer.Header.Get("Content-Security-Policy"), "default-src 'none'", "also where the guard answers")
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	require.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"))
}

func TestNothingWrites(t *testing.T) {
	t.Parallel()
	server := run(t, console.Config{Guard: everybody{}, Logger: testenv.Logger(t)})
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		request, err := http.NewRequestWithContext(t.Context(), method, server+"/projectors", strings.NewReader("x"))
		require.NoError(t, err)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, http.StatusMethodNotAllowed, answer.StatusCode, method)
	}
}

// addresses has every page that there is something for in the shop's log.
func addresses(t *testing.T, server string) []string {
	t.Helper()
	out := []string{
		"/", "/rejected", "/measures", "/measures?by=week", "/measures?by=month", "/measures?from=2020-01-01&to=2020-02-01", "/invitations", "/invitations?status=pending", "/schemas", "/projectors", "/events", "/events?outcome=applied&type=checkout.*&from=2000-01-01&limit=3", "/search?q=nothing", "/search",
	}
	_, text := get(t, server, "/events?limit=1000", "Accept", "application/json")
	var list struct {
		Items []map[string]any `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	require.NotEmpty(t, list.Items)
	seen := map[string]int{}
	for _, e := range list.Items {
		for column, path := range map[string]string{
			"event_id": "/events/", "user_id": "/users/", "provider_payment_id": "/payments/", "subscription_id": "/subscriptions/",
		} {
			if id, _ := e[column].(string); id != "" && seen[path] < 20 {
				seen[path]++
				out = append(out, path+url.PathEscape(id))
			}
		}
	}
	require.Len(t, seen, 4, "the shop has all of them")
	return out
}

func TestEveryPageIsWhole(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	for _, path := range addresses(t, server) {
		answer, text := get(t, server, path)
		require.Equal(t, http.StatusOK, answer.StatusCode, path+text)
		require.Equal(t, 1, strings.Count(text, "<h1>"), path)
		require.Contains(t, text, "</html>", path)
		for _, fault := range []string{"%!", "&lt;nil&gt;", "0x", "map[", "ZgotmplZ", "0001-01-01"} {
			require.NotContains(t, text, fault, path)
		}
		answer, text = get(t, server, path, "Accept", "application/json")
		require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
		require.True(t, json.Valid([]byte(text)), path)
		require.NotRegexp(t, `"[A-Z]\w*":`, text, path+" has a field that is for the template only")
	}
}

func TestWhatIsCountedInTheBackgroundArrives(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	var applied int64
	require.NoError(t, w.DB.QueryRow(t.Context(), "select count(*) from portal.processed_event where outcome = 'applied'").Scan(&applied))
	require.Positive(t, applied)
	wait.Until(t, func() bool {
		_, text := get(t, server, "/")
		return strings.Contains(text, fmt.Sprintf("applied</a> %d", applied))
	})
	wait.Until(t, func() bool {
		_, text := get(t, server, "/rejected")
		return strings.Contains(text, "What to do:") || strings.Contains(text, "No event was rejected.")
	})
	wait.Until(t, func() bool {
		_, text := get(t, server, "/measures?by=month", "Accept", "application/json")
		return strings.Contains(text, `"gross":`)
	})
}

func TestWhatIsUnknownIsSaid(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	for path, want := range map[string]int{
		"/nothing": http.StatusNotFound, "/events/evt_unknown": http.StatusNotFound, "/users/nobody": http.StatusNotFound,
		"/payments/none": http.StatusNotFound, "/subscriptions/none": http.StatusNotFound, "/events?schema=none": http.StatusNotFound,
		"/events?from=yesterday": http.StatusBadRequest, "/events?before=x": http.StatusBadRequest, "/events?limit=100000": http.StatusBadRequest,
		"/measures?from=2020-02-01&to=2020-01-01": http.StatusBadRequest, "/measures?from=1990-01-01": http.StatusBadRequest,
		"/measures?by=year": http.StatusBadRequest, "/measures?format=xml": http.StatusBadRequest, "/revenue": http.StatusNotFound,
		// Text that no table can have.
		"/users/%00": http.StatusNotFound, "/users/%ff": http.StatusNotFound, "/users/": http.StatusNotFound, "/events/%00": http.StatusNotFound,
		"/payments/%00": http.StatusNotFound, "/subscriptions/%ff": http.StatusNotFound, "/events?user=%00&type=%ff*": http.StatusOK, "/search?q=%00": http.StatusOK,
		"/invitations?user=%00&repository=%00&payment=%ff": http.StatusOK, "/invitations?status=%00": http.StatusBadRequest, "/events?schema=%00": http.StatusNotFound,
	} {
		answer, text := get(t, server, path)
		require.Equal(t, want, answer.StatusCode, path)
		require.Contains(t, text, "</html>", path)
		answer, text = get(t, server, path, "Accept", "application/json")
		require.Equal(t, want, answer.StatusCode, path)
		require.True(t, json.Valid([]byte(text)), path)
	}
}

// oneIsAway is the log of three servers, one of which is away.
type oneIsAway struct{ console.Log }

func (l oneIsAway) Info(ctx context.Context) (eventlog.Info, error) {
	info, err := l.Log.Info(ctx)
	info.Replicas, info.Current, info.Durability = 3, 2, eventlog.Quorum
	return info, err
}

func TestAServerOfTheLogThatIsAwayIsSaid(t *testing.T) {
	t.Parallel()
	config, _ := shop(t)
	whole := run(t, config)
	config.Log = oneIsAway{config.Log}
	server := run(t, config)
	_, text := get(t, server, "/projectors")
	require.Contains(t, text, "Only 2 of 3 NATS servers have the whole log")
	require.Contains(t, text, "on a majority of 3 servers")
	_, text = get(t, server, "/")
	require.Contains(t, text, "Only 2 of 3 NATS servers have the whole log")
	for _, path := range []string{"/projectors", "/"} {
		_, text = get(t, whole, path)
		require.NotContains(t, text, "NATS servers")
	}
}

// another is another log, as after one was adopted.
type another struct{ console.Log }

func (l another) Info(ctx context.Context) (eventlog.Info, error) {
	info, err := l.Log.Info(ctx)
	info.LogID = "another"
	return info, err
}

func TestAnEventIsNotShownWithAMessageOfAnotherLog(t *testing.T) {
	t.Parallel()
	_, shop := fixture.NewFolded(t, 1, fixture.Pack("e1", "p1", "u1", 1))
	server := run(t, console.Config{Log: another{shop.Log}, Tables: shop.Tables, Guard: everybody{}, ShowPersonalData: true, Logger: testenv.Logger(t)})
	_, text := get(t, server, "/events/e1")
	require.Contains(t, text, "The log cannot be read")
	answer, _ := get(t, server, "/events/e1/body")
	require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
}

func TestThatGitHubRefusesTheCredentialsIsSaid(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	for cause, said := range map[string]bool{"limit": false, "denied": true} {
		_, err := w.DB.Exec(t.Context(), `insert into payfold.invitation_pause values ('acme/tool', now() + interval '1 hour', $1, 'because')
			on conflict (repository) do update set cause = excluded.cause`, cause)
		require.NoError(t, err)
		_, text := get(t, server, "/")
		require.Equal(t, said, strings.Contains(text, "Nobody is invited to acme/tool"), cause)
	}
}

// stopped returns the configuration for a shop whose only projector has applied everything and stopped.
func stopped(t *testing.T) console.Config {
	t.Helper()
	ctx, w := world.New(t)
	require.NoError(t, w.Project(ctx, t, 100)())
	w.WaitApplied(ctx, t)
	return console.Config{Log: w.Log, Tables: w.Open(ctx, t, "portal"), Guard: everybody{}, Logger: testenv.Logger(t)}
}

// A projector that was killed is a member until another one evicts it.
func TestThatTheLastProjectorWasKilledIsSaid(t *testing.T) {
	t.Parallel()
	config := stopped(t)
	_, err := config.Tables.Pool().Exec(t.Context(), "insert into payfold.member (owner, last_seen) values ('killed', now() - interval '1 hour')")
	require.NoError(t, err)
	server := run(t, config)
	for _, path := range []string{"/", "/projectors"} {
		_, text := get(t, server, path)
		require.Contains(t, text, "No projector works on the tables", path)
		require.NotContains(t, text, "1 projector", path)
	}
}

func TestPartitionsThatDifferInNothingShareALine(t *testing.T) {
	t.Parallel()
	config := stopped(t)
	tables := config.Tables.Pool()
	_, err := tables.Exec(t.Context(), "update portal.checkpoint set position = (select max(position) from portal.checkpoint)")
	require.NoError(t, err)
	var last int
	require.NoError(t, tables.QueryRow(t.Context(), "select max(partition) from portal.checkpoint").Scan(&last))
	server := run(t, config)
	_, text := get(t, server, "/projectors")
	_, list, _ := strings.Cut(text, `<h2 id="partitions">`)
	require.Contains(t, list, fmt.Sprintf(`<td class="number">0-%d</td>`, last))
	require.Equal(t, 2, strings.Count(list, "<tr>"), "the heading and one line")
}

func TestASearchGoesToTheOnlyHit(t *testing.T) {
	t.Parallel()
	server, _ := serve(t)
	_, text := get(t, server, "/events?limit=1", "Accept", "application/json")
	var list struct {
		Items []struct {
			ID string `json:"event_id"`
		} `json:"items"`
	}
	require.NoError(t, json.Unmarshal([]byte(text), &list))
	answer, text := get(t, server, "/search?q="+url.QueryEscape(list.Items[0].ID))
	require.Equal(t, "/events/"+url.PathEscape(list.Items[0].ID), answer.Request.URL.EscapedPath())
	require.Contains(t, text, "What arrived")
}

func TestASearchFindsAMessageThatIsNotAppliedYet(t *testing.T) {
	t.Parallel()
	_, folded := fixture.NewFolded(t, 1, fixture.Month()[:2]...)
	server := run(t, console.Config{Log: folded.Log, Tables: folded.Tables, Guard: everybody{}, Logger: testenv.Logger(t)})
	_, text := get(t, server, "/search?q=2")
	require.Contains(t, text, "no projector has applied it yet")
	require.Contains(t, text, "<dd>seq 2, partition ")
	_, text = get(t, server, "/search?q=2", "Accept", "application/json")
	require.Contains(t, text, `{"pending":{"stream_seq":2,`)
}

func TestNamesAndBodiesAreMasked(t *testing.T) {
	t.Parallel()
	servers, w := serveBoth(t)
	var event, user, name string
	require.NoError(t, w.DB.QueryRow(t.Context(), "select event_id, user_id, github_username from portal.payment where github_username is not null and user_id is not null limit 1").
		Scan(&event, &user, &name))
	for personal, server := range servers {
		for _, path := range []string{"/events/" + event, "/users/" + url.PathEscape(user)} {
			for _, accept := range []string{"text/html", "application/json"} {
				_, text := get(t, server, path, "Accept", accept)
				require.Equal(t, personal, strings.Contains(text, name), path+" "+accept+text)
			}
		}
		answer, body := get(t, server, "/events/"+event+"/body")
		if !personal {
			require.Equal(t, http.StatusForbidden, answer.StatusCode)
			continue
		}
		require.Contains(t, answer.Header.Get("Content-Disposition"), "attachment")
		require.True(t, json.Valid([]byte(body)))
	}
}

// GitHub's words can repeat the name.
func TestANameInTheReasonOfAnInvitationIsMasked(t *testing.T) {
	t.Parallel()
	servers, w := serveBoth(t)
	var user, payment, name string
	require.NoError(t, w.DB.QueryRow(t.Context(), "select user_id, provider_payment_id, github_username from portal.payment where github_username is not null and user_id is not null and kind = 'pro' limit 1").
		Scan(&user, &payment, &name))
	_, err := w.DB.Exec(t.Context(), `insert into payfold.invitation (user_id, repository, provider_payment_id, github_username, status, reason, activated_at, due_at, changed_at)
		values ($1, 'acme/tool', $2, $3, 'failed', '422 Validation Failed ' || upper($3) || ' is blocked', now(), now(), now())`, user, payment, name)
	require.NoError(t, err)
	for personal, server := range servers {
		for _, path := range []string{"/invitations", "/users/" + url.PathEscape(user), "/payments/" + url.PathEscape(payment)} {
			for _, accept := range []string{"text/html", "application/json"} {
				_, text := get(t, server, path, "Accept", accept)
				require.Contains(t, text, "422 Validation Failed "+strings.ToUpper(name[:1]), path)
				require.Equal(t, personal, strings.Contains(text, strings.ToUpper(name)), path+" "+accept)
			}
		}
	}
}

func TestAnInvitationSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	server, w := serve(t)
	var user, payment string
	require.NoError(t, w.DB.QueryRow(t.Context(), "select user_id, provider_payment_id from portal.payment where user_id is not null and kind = 'pro' limit 1").Scan(&user, &payment))
	_, err := w.DB.Exec(t.Context(), `insert into payfold.invitation (user_id, repository, provider_payment_id, status, activated_at, due_at, changed_at)
		values ($1, 'acme/tool', $2, 'pending', now(), now(), now())`, user, payment)
	require.NoError(t, err)
	for _, path := range []string{"/invitations", "/users/" + url.PathEscape(user), "/payments/" + url.PathEscape(payment)} {
		_, text := get(t, server, path)
		require.Contains(t, text, "waits for a GitHub user", path)
	}
}

// What Postgres says of rows that it refuses repeats them.
func TestWhatTheDatabaseSaidOfABodyIsMasked(t *testing.T) {
	t.Parallel()
	const said = "invalid value for Petra Personal"
	servers, w := serveBoth(t)
	_, err := w.DB.Exec(t.Context(), "insert into payfold.quarantined_event (log_id, stream_seq, error) select log_id, 1, $1 from payfold.schema_state where schema_name = 'portal'", said)
	require.NoError(t, err)
	var event string
	require.NoError(t, w.DB.QueryRow(t.Context(), "select event_id from portal.processed_event where stream_seq = 1").Scan(&event))
	for personal, server := range servers {
		for _, path := range []string{"/", "/projectors", "/rejected", "/events/" + event} {
			_, text := get(t, server, path, "Accept", "application/json")
			require.Equal(t, personal, strings.Contains(text, said), path)
			_, text = get(t, server, path)
			require.True(t, personal || !strings.Contains(text, said), path)
		}
		for _, path := range []string{"/rejected", "/events/" + event} {
			_, text := get(t, server, path)
			require.Equal(t, personal, strings.Contains(text, said), path)
			require.Equal(t, !personal, strings.Contains(text, "CONSOLE_SHOW_PERSONAL_DATA"), path)
		}
	}
}
