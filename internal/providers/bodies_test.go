package providers

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// realBodies are the bodies of testdata, by file.
func realBodies(t testing.TB) map[string][]byte {
	t.Helper()
	bodies := map[string][]byte{}
	for _, pattern := range []string{"testdata/*.json", "testdata/wire/*.json"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			bodies[file], err = os.ReadFile(file)
			require.NoError(t, err)
		}
	}
	require.NotEmpty(t, bodies)
	return bodies
}

// providerOf is the provider that a file of testdata/wire names before a hyphen; the specification's if it names
// none.
func providerOf(file string) *Provider {
	name, _, _ := strings.Cut(filepath.Base(file), "-")
	return cmp.Or(Named(name), specification)
}

// around puts a text where a value of the object stands.
func around(object string) string {
	return `{"id":"e","eventType":"subscription.paid","object":` + object + `}`
}

var nastyBodies = []string{
	``, ` `, `{`, `}`, `{}`, ` { } `, `[]`, `null`, `"x"`, `7`, `,{}`, `{,}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`,
	"\ufeff{}", "\x00", "{\"id\"\x00:1}", `{1:2}`, `{[1]:2}`, `{{}:1}`, `{null:1}`, `{"a":1]`, `{"a":[1}}`, `{"a":[1,]}`, `{"a":[,1]}`,
	`{"id":"e","eventType":"t","object":{}} x`, `{"id":"e","eventType":"t","object":{}},`, "{\"id\":\"e\",\"eventType\":\"t\",\"object\":{}}\x00",
	"\t\r\n{\"id\"\n:\"e\"\r,\t\"eventType\" : \"t\" , \"object\":{ }\n}\n", "{\"id\":\"e\",\"eventType\":\"t\",\v\"object\":{}}",
	`{"id":"e","\u0069d":"e","eventType":"t","object":{}}`, `{"\u0069d":"e","event\u0054ype":"t","ob\u006aect":{"\u0069d":7}}`,
	`{"id":"e","eventType":"t","object":{},"object":1}`, `{"id":1,"id":2,"eventType":"t","object":{`, `{"i\ud800":"e","id":"e","eventType":"t","object":{}}`,
	`{"id":"\ud83d\ude00","eventType":"\u0000","object":{}}`, `{"id":"\udc00\ud800","eventType":"t","object":{}}`,
	`{"id":"e","eventType":"t","created_at":1,"created_at":null,"object":{}}`, `{"id":"e","eventType":"t","created_at":"\ud8002026-01-02T10:00:00Z","object":{}}`,
	around(`{"id":"\u00zz"}`), around(`{"id":"\u12"}`), around(`{"id":"\x"}`), around(`{"id":"\`), around(`{"id":"\u`), around("{\"id\":\"a\nb\"}"), around("{\"id\":\"\x7f\"}"),
	around(`{"id":"\uABCD\uffff\u09aF"}`), around(`{"id":"\u00g0"}`), around(`{"id":"\u00G0"}`), around(`{"id":"\u00:0"}`), around(`{"id":"\u00/0"}`),
	around(`{"id":"\u00@0"}`), around("{\"id\":\"\\u00`0\"}"), around(`{"units":1e+2}`), around(`{"units":--1}`),
	around(`{"id":"\"\\\/\b\f\n\r\t"}`), around(`{"id":"\ud800","customer":"\ud800x","user_id":"\u0000"}`),
	around(`{"units":01}`), around(`{"units":-}`), around(`{"units":-0}`), around(`{"units":1.}`), around(`{"units":.5}`), around(`{"units":1e}`),
	around(`{"units":1e+}`), around(`{"units":1E-2}`), around(`{"units":+1}`), around(`{"units":1e400}`), around(`{"units":0x1}`), around(`{"units":NaN}`),
	around(`{"units":` + strings.Repeat("9", 400) + `}`), around(`{"units":0.` + strings.Repeat("0", 400) + `}`), around(`{"units":tru}`), around(`{"units":truex}`),
	around(`{"units":nul`), around(`{"units":12`), around(`{"order":{"id":[{"x":[1,2 3]}]}}`), around(`{"x":{"id":[{"x":[1,2 3]}]}}`),
	around(`{"order":{"id":"a","product":{"id":"p"}},"order":{"id":"b"}}`), around(`{"order":{"id":"a"},"order":"b"}`), around(`{"order":"b","order":{}}`),
	around(`{"order":{"id":"a"},"order":null}`), around(`{"items":[{"units":1,"units":2},{"units":3}],"items":[7,{"units":4}]}`), around(`{"items":[{"units":1}],"items":{}}`),
	around(`{"items":[[{"units":1}]]}`), around(`{"items":[{"units":1},{"units":2 }`), around(`{"items":[{"units":1} {"units":2}]}`), around(`{"items":[]}`), around(`{"items":[}`),
	around(`{"metadata":[],"subscription":{"metadata":{"kind":"pro"}}}`), around(`{"metadata":{},"subscription":{"metadata":{"kind":"pro"}}}`),
	around(`{"metadata":{"github":"github.com/%00"}}`), around(`{"metadata":{"github":" @github.com//oct\u006f?x "}}`),
	around(`{"amount":true,"currency":"EUR","amount_paid":null}`), around(`{"current_period_start":"2026-01-02T03:04:05+23:59","canceled_at":253402300800000}`),
	around(strings.Repeat(`[`, 99) + strings.Repeat(`]`, 99)), around(strings.Repeat(`[`, 100)), around(strings.Repeat(`{"order":`, 99) + `1` + strings.Repeat(`}`, 99)),
	`"` + strings.Repeat("[", 200), strings.Repeat("]", 200) + strings.Repeat("[", 200), strings.Repeat("x[]", 200), `\"` + strings.Repeat("[", 101),
	levels(100), levels(101),
}
