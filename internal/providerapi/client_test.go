package providerapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/providerapi"
)

const testKey = "key_of_the_test"

// setup serves the API of a provider, and returns its client.
func setup(t *testing.T, provider string, api http.HandlerFunc) *providerapi.Client {
	t.Helper()
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)
	key, err := providerapi.NewKey(testKey)
	require.NoError(t, err)
	client, err := providerapi.New(providerapi.Config{
		Provider: provider, URL: server.URL, Key: key, WebhookID: "wh_1", RetryWait: time.Millisecond,
	})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return client
}

// answers answers one request after the other; the last answer is repeated.
func answers(list ...http.HandlerFunc) (api http.HandlerFunc, asked *int) {
	asked = new(int)
	return func(w http.ResponseWriter, r *http.Request) {
		n := min(*asked, len(list)-1)
		*asked++
		list[n](w, r)
	}, asked
}

func says(status int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, text)
	}
}

// cut announces more than it sends.
func cut(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	fmt.Fprint(w, `{"data":[`)
	panic(http.ErrAbortHandler)
}

func TestAnAPIThatFailsForAWhileIsAskedAgain(t *testing.T) {
	t.Parallel()
	api, asked := answers(says(500, "no"), says(503, ""), cut, says(429, "slowly"), says(200, `{"a":`), says(200, `{"a":1}`))
	var got struct{ A int }
	require.NoError(t, setup(t, "stripe", api).Get(t.Context(), "/v1/x", nil, &got))
	require.Equal(t, 1, got.A)
	require.Equal(t, 6, *asked)
}

func TestAnAPIThatKeepsFailingIsAnErrorThatSaysWhatItSaid(t *testing.T) {
	t.Parallel()
	api, asked := answers(says(502, "bad\ngateway"))
	err := setup(t, "stripe", api).Get(t.Context(), "/v1/x", nil, new(any))
	require.EqualError(t, err, "stripe: GET /v1/x is answered 502: bad gateway")
	require.Equal(t, 6, *asked)
}

func TestTheWaitIsWhatTheAPIAsksFor(t *testing.T) {
	t.Parallel()
	var second time.Time
	first := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusTooManyRequests)
	}
	api, _ := answers(first, func(w http.ResponseWriter, r *http.Request) {
		second = time.Now()
		says(200, `{}`)(w, r)
	})
	began := time.Now()
	require.NoError(t, setup(t, "polar", api).Get(t.Context(), "/x", nil, new(any)))
	require.GreaterOrEqual(t, second.Sub(began), time.Second)
}

func TestAWaitThatIsTooLongEndsTheRun(t *testing.T) {
	t.Parallel()
	api, asked := answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "3600")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	err := setup(t, "polar", api).Get(t.Context(), "/x", nil, new(any))
	require.EqualError(t, err, "polar: GET /x is answered 429; it asks to wait 1h0m0s")
	require.Equal(t, 1, *asked)
}

func TestAPersonIsToldWhatIsWaitedFor(t *testing.T) {
	t.Parallel()
	told, answer := []string{}, make(chan struct{})
	ctx := providerapi.Watch(t.Context(), time.Millisecond, func(what string) {
		if told = append(told, what); len(told) == 1 {
			close(answer)
		}
	})
	api, _ := answers(func(http.ResponseWriter, *http.Request) {
		<-answer
		panic(http.ErrAbortHandler)
	}, says(200, `{}`))
	require.NoError(t, setup(t, "stripe", api).Get(ctx, "/v1/x", nil, new(any)))
	require.GreaterOrEqual(t, len(told), 2)
	require.Equal(t, "stripe: GET /v1/x has had no answer for 1ms", told[0])
	require.Regexp(t, `^stripe: GET /v1/x: .*EOF; asked again in `, told[1])
}

func TestARefusedKeyIsSaidAtOnceAndNotShown(t *testing.T) {
	t.Parallel()
	for status, advice := range map[int]string{
		http.StatusUnauthorized: "PADDLE_API_KEY is wrong, revoked, or of another mode or address: make a new key in the dashboard",
		http.StatusForbidden:    "the key of PADDLE_API_KEY lacks the right notification.read: docs/providers.md says which rights it needs",
	} {
		api, asked := answers(func(w http.ResponseWriter, r *http.Request) { // an API may repeat what it got
			says(status, r.Header.Get("Authorization"))(w, r)
		})
		client := setup(t, "paddle", api)
		err := client.Get(t.Context(), "/events", nil, new(any))
		require.EqualError(t, err, fmt.Sprintf("paddle: GET /events is answered %d: Bearer [redacted]; %s", status, advice))
		require.True(t, providerapi.KeyRefused(err))
		require.Equal(t, 1, *asked)
		require.NotContains(t, fmt.Sprintf("%v %+v %#v", client.Config, client.Config, client.Config), testKey)
	}
}

func TestTheKeyIsNotSentOnByARedirect(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("another host was asked") }))
	defer other.Close()
	api, asked := answers(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	err := setup(t, "creem", api).Get(t.Context(), "/x", nil, new(any))
	require.ErrorContains(t, err, "creem: GET /x is answered 307")
	require.ErrorContains(t, err, "redirects are not followed")
	require.False(t, providerapi.KeyRefused(err))
	require.Equal(t, 1, *asked)
}

func TestEachAPIGetsItsKeyInItsHeader(t *testing.T) {
	t.Parallel()
	for provider, header := range map[string]string{"creem": "X-Api-Key", "paddle": "Authorization", "polar": "Authorization", "stripe": "Authorization"} {
		api, _ := answers(func(w http.ResponseWriter, r *http.Request) {
			if strings.TrimPrefix(r.Header.Get(header), "Bearer ") != testKey || strings.Contains(r.URL.String(), testKey) {
				t.Errorf("%s: %v", r.URL, r.Header)
			}
			says(200, `{}`)(w, r)
		})
		require.NoError(t, setup(t, provider, api).Get(t.Context(), "/x", nil, new(any)), provider)
	}
}

func TestAnAddressIsHTTPSOrOfThisMachine(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"https://sandbox-api.example.com", "https://host:8443/api/", "http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"} {
		_, err := providerapi.ParseURL(good)
		require.NoError(t, err, good)
	}
	for _, bad := range []string{"http://example.com", "ftp://example.com", "example.com", "https://user:pass@host", "https://host?x=1", "https://host#x", "https://[", "http://127.0.0.1.example.com"} {
		_, err := providerapi.ParseURL(bad)
		require.Error(t, err, bad)
		require.NotContains(t, err.Error(), "pass")
	}
	for _, name := range providerapi.Names() {
		_, err := providerapi.New(providerapi.Config{Provider: name})
		require.NoError(t, err, "the provider's own")
	}
}

func TestAKeyIsOneWord(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"a b", "a\nb", "schlüssel", "a\x00"} {
		_, err := providerapi.NewKey(bad)
		require.Error(t, err)
		require.NotContains(t, err.Error(), bad)
	}
}

// pagesOf asks for a list, and returns the objects of all pages.
func pagesOf(t *testing.T, c *providerapi.Client) (objects []string, err error) {
	t.Helper()
	for page, failed := range c.Pages(t.Context(), "/list", url.Values{"of": {"x"}}) {
		if failed != nil {
			return objects, failed
		}
		for _, object := range page {
			objects = append(objects, string(object))
		}
	}
	return objects, nil
}

// expect answers a request that has this query.
func expect(t *testing.T, query, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if got, err := url.QueryUnescape(r.URL.RawQuery); err != nil || got != query {
			t.Errorf("asked %q, not %q", got, query)
		}
		says(200, text)(w, r)
	}
}

func TestPagesGoOnAsEachAPIDocuments(t *testing.T) {
	t.Parallel()
	for provider, api := range map[string][]http.HandlerFunc{
		"stripe": {
			expect(t, "limit=100&of=x", `{"object":"list","data":[{"id":"a"}, {"id": "b"}],"has_more":true}`),
			expect(t, "limit=100&of=x&starting_after=b", `{"object":"list","data":[{"id":"c"}],"has_more":false}`),
		},
		"paddle": {
			expect(t, "of=x&per_page=200", `{"data":[{"id":"a"}, {"id": "b"}],"meta":{"pagination":{"has_more":true,"next":"https://elsewhere.example/list?after=b&per_page=1"}}}`),
			expect(t, "after=b&of=x&per_page=200", `{"data":[{"id":"c"}],"meta":{"pagination":{"has_more":false,"next":"https://elsewhere.example/list?after=c"}}}`),
		},
		"polar": {
			expect(t, "limit=100&of=x", `{"items":[{"id":"a"}, {"id": "b"}],"pagination":{"total_count":3,"max_page":2}}`),
			expect(t, "limit=100&of=x&page=2", `{"items":[{"id":"c"}],"pagination":{"total_count":3,"max_page":2}}`),
		},
		"creem": {
			expect(t, "of=x&page_size=100", `{"items":[{"id":"a"}, {"id": "b"}],"pagination":{"next_page":2}}`),
			expect(t, "of=x&page_number=2&page_size=100", `{"items":[{"id":"c"}],"pagination":{"next_page":null}}`),
		},
	} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			answer, asked := answers(api...)
			got, err := pagesOf(t, setup(t, provider, answer))
			require.NoError(t, err)
			require.Equal(t, []string{`{"id":"a"}`, `{"id": "b"}`, `{"id":"c"}`}, got, "byte for byte")
			require.Equal(t, 2, *asked)
		})
	}
}

func TestAListThatCannotEndIsAnError(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ provider, answer, fault string }{
		"no word of more pages":  {"stripe", `{"data":[{"id":"a"}]}`, "the answer does not say whether there are more pages"},
		"no word of them, too":   {"paddle", `{"data":[{}]}`, "the answer does not say whether there are more pages"},
		"no number of pages":     {"polar", `{"items":[{}]}`, "the answer does not say whether there are more pages"},
		"no next number":         {"creem", `{"items":[{}],"pagination":{"total_pages":1}}`, "the answer does not say whether there are more pages"},
		"a next page of text":    {"creem", `{"items":[{}],"pagination":{"next_page":"x"}}`, "the answer does not say whether there are more pages"},
		"the same page again":    {"stripe", `{"data":[{"id":"a"}],"has_more":true}`, "the page names one as the next that was read already"},
		"no id":                  {"stripe", `{"data":[{}],"has_more":true}`, "the last object of a page has no id"},
		"an empty page":          {"stripe", `{"data":[],"has_more":true}`, "an empty page says that there are more"},
		"no list":                {"stripe", `{}`, "the answer has no list"},
		"no list either":         {"polar", `{"data":[]}`, "the answer has no list"},
		"the same page, too":     {"paddle", `{"data":[{}],"meta":{"pagination":{"has_more":true,"next":"/list?after=a"}}}`, "the page names one as the next that was read already"},
		"no next page":           {"paddle", `{"data":[{}],"meta":{"pagination":{"has_more":true}}}`, "the page does not name the next one"},
		"the same number again":  {"creem", `{"items":[{}],"pagination":{"next_page":2}}`, "the page names one as the next that was read already"},
		"an answer of a proxy":   {"stripe", `<html>sign in</html>`, "the answer is not the JSON that was expected"},
		"a list of another kind": {"stripe", `{"data":{}}`, "the answer is not the JSON that was expected"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pagesOf(t, setup(t, c.provider, says(200, c.answer)))
			require.ErrorContains(t, err, c.fault)
		})
	}
}

func TestAnObjectIsKeptByteForByte(t *testing.T) {
	t.Parallel()
	object := "{\n  \"id\": \"a\",  \"amount\": 1.0e2,\n \"text\": \"\\u00e9\" }"
	got, err := pagesOf(t, setup(t, "stripe", says(200, `{"data":[`+object+`],"has_more":false}`)))
	require.NoError(t, err)
	require.True(t, json.Valid([]byte(got[0])))
	require.Equal(t, object, got[0])
}
