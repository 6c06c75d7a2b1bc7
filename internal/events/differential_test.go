package events

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// disagreement compares Parse with the oracle: the same event, or the same
// refusal in the same words. It also spoils the body afterwards, for nothing in
// an event may be a part of it.
func disagreement(body []byte) error {
	want, wantErr := oracleParse(body)
	scratch := bytes.Clone(body)
	got, gotErr := Parse(scratch)
	if !bytes.Equal(scratch, body) {
		return errors.New("Parse changes the body")
	}
	for i := range scratch {
		scratch[i] = '#'
	}
	if reason(gotErr) != reason(wantErr) {
		return fmt.Errorf("refusal %q, want %q", reason(gotErr), reason(wantErr))
	}
	if got != want {
		return fmt.Errorf("event\n%+v, want\n%+v", got, want)
	}
	return nil
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		return "not a SyntaxError: " + err.Error()
	}
	return syntax.Detail
}

func FuzzParseAgreesWithTheOracle(f *testing.F) {
	for _, body := range realBodies(f) {
		f.Add(body)
	}
	for _, body := range nastyBodies {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		require.NoError(t, disagreement(body))
	})
}

func TestParseAgreesWithTheOracle(t *testing.T) {
	t.Parallel()
	const marks = "\"\\{}[],:0-.e \x00\x1f\xc3tu"
	for _, body := range nastyBodies {
		require.NoError(t, disagreement([]byte(body)), body)
	}
	for _, body := range realBodies(t) {
		require.NoError(t, disagreement(body))
		for i := range body {
			require.NoError(t, disagreement(body[:i]), "broken off after %d", i)
			mutant := bytes.Clone(body)
			mutant[i] = marks[i%len(marks)]
			require.NoError(t, disagreement(mutant), "byte %d is %q", i, mutant[i])
		}
	}
}

func TestParseAgreesWithTheOracleOnAnyBody(t *testing.T) {
	t.Parallel()
	bodies := realBodies(t)
	rapid.Check(t, func(t *rapid.T) {
		body := anyBody(t)
		if rapid.IntRange(0, 4).Draw(t, "real") == 0 {
			body = string(rapid.SampledFrom(bodies).Draw(t, "body"))
		}
		for range rapid.SampledFrom([]int{0, 0, 0, 1, 1, 2, 5}).Draw(t, "mutations") {
			body = mutate(t, body)
		}
		if err := disagreement([]byte(body)); err != nil {
			t.Fatalf("%s\n%v", body, err)
		}
	})
}

func realBodies(t testing.TB) [][]byte {
	t.Helper()
	var bodies [][]byte
	for _, pattern := range []string{"testdata/*.json", "testdata/wire/*.json"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		for _, file := range files {
			body, err := os.ReadFile(file)
			require.NoError(t, err)
			bodies = append(bodies, body)
		}
	}
	require.NotEmpty(t, bodies)
	return bodies
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
	around(`{"id":"\"\\\/\b\f\n\r\t"}`), around(`{"id":"\ud800","customer":"\ud800x","user_id":"\u0000"}`),
	around(`{"units":01}`), around(`{"units":-}`), around(`{"units":-0}`), around(`{"units":1.}`), around(`{"units":.5}`), around(`{"units":1e}`),
	around(`{"units":1e+}`), around(`{"units":1E-2}`), around(`{"units":+1}`), around(`{"units":1e400}`), around(`{"units":0x1}`), around(`{"units":NaN}`),
	around(`{"units":` + strings.Repeat("9", 400) + `}`), around(`{"units":0.` + strings.Repeat("0", 400) + `}`), around(`{"units":tru}`), around(`{"units":truex}`),
	around(`{"units":nul`), around(`{"units":12`), around(`{"order":{"id":[{"x":[1,2 3]}]}}`), around(`{"x":{"id":[{"x":[1,2 3]}]}}`),
	around(`{"order":{"id":"a","product":{"id":"p"}},"order":{"id":"b"}}`), around(`{"order":{"id":"a"},"order":"b"}`), around(`{"order":"b","order":{}}`),
	around(`{"order":{"id":"a"},"order":null}`), around(`{"items":[{"units":1,"units":2},{"units":3}],"items":[7,{"units":4}]}`), around(`{"items":[{"units":1}],"items":{}}`),
	around(`{"items":[[{"units":1}]]}`), around(`{"items":[{"units":1},{"units":2 }`), around(`{"items":[{"units":1} {"units":2}]}`), around(`{"items":[]}`), around(`{"items":[}`),
	around(`{"metadata":[],"subscription":{"metadata":{"kind":"pro"}}}`), around(`{"metadata":{},"subscription":{"metadata":{"kind":"pro"}}}`),
	around(`{"amount":true,"currency":"EUR","amount_paid":null}`), around(`{"current_period_start":"2026-01-02T03:04:05+23:59","canceled_at":253402300800000}`),
	around(strings.Repeat(`[`, 99) + strings.Repeat(`]`, 99)), around(strings.Repeat(`[`, 100)), around(strings.Repeat(`{"order":`, 99) + `1` + strings.Repeat(`}`, 99)),
	`"` + strings.Repeat("[", 200), strings.Repeat("]", 200) + strings.Repeat("[", 200), strings.Repeat("x[]", 200), `\"` + strings.Repeat("[", 101),
	levels(100), levels(101),
}

var (
	names = strings.Fields(`id eventType created_at object id eventType object mode metadata customer product order subscription
		checkout transaction last_transaction last_transaction_id provider_payment_id subscription_id user_id userId credits units
		items status canceled_at refund_amount amount_paid amount currency current_period_start_date current_period_end_date
		current_period_start current_period_end kind reference_id referenceId product_key key github_username githubUsername
		github_login github external_id amount_due discount_amount refunded_amount period_start period_end ID Object x`)
	scalars = []string{
		`null`, `true`, `false`, `""`, `0`, `-0`, `7`, `-1.5`, `1e3`, `1E+400`, `12345678901234567890`, `9007199254740993`, `9007199254740993.0`, `1767348000000`,
		`"7"`, `"-7"`, `"1e2"`, `" 7"`, `"e"`, `"subscription.paid"`, `"2026-01-02T10:00:00.1234567Z"`, `"2026-01-02T12:00:00+02:00"`, `"9999-12-31T23:59:59-01:00"`,
		`"a\u0000b"`, `"\ud800"`, `"\udc00x"`, `"\ud83d\ude00"`, `"\u00e9é😀"`, `"\"\\\/\b\f\n\r\t"`, `"https://github.com/octo/x"`, `"https:\/\/github.com\/octo"`, `" @octo "`,
		`"` + strings.Repeat("x", MaxText) + `"`, `"` + strings.Repeat("é", MaxText) + `"`, `"sha256:x"`, `"\u007f"`,
	}
	pieces = append([]string{
		`"`, `\`, `\u`, `\ud800`, `{`, `}`, `[`, `]`, `,`, `:`, ` `, "\t", "\n", "\x00", "\x1f", "\x7f", "\xff", "\xc3\xa9", "\ufeff", `e`, `.`, `-`, `0`, `tru`, `{}`, `[]`, `"x":1,`,
	}, scalars...)
)

// anyBody is an envelope that is mostly right, or any value in its place.
func anyBody(t *rapid.T) string {
	if rapid.IntRange(0, 5).Draw(t, "whole") == 0 {
		return anyValue(t, 4)
	}
	fields := []string{`"id":"e"`, `"eventType":` + rapid.SampledFrom([]string{`"subscription.paid"`, `"t"`}).Draw(t, "type"), `"object":` + anyObject(t, 4)}
	for range rapid.IntRange(0, 2).Draw(t, "more") {
		fields = append(fields, anyName(t)+":"+anyValue(t, 2))
	}
	return "{" + strings.Join(rapid.Permutation(fields).Draw(t, "fields"), ",") + "}"
}

func anyValue(t *rapid.T, depth int) string {
	kinds := 6
	if depth == 0 {
		kinds = 3
	}
	switch rapid.IntRange(0, kinds).Draw(t, "value") {
	case 5, 6:
		return anyObject(t, depth-1)
	case 4:
		elements := make([]string, rapid.IntRange(0, 3).Draw(t, "elements"))
		for i := range elements {
			elements[i] = anyValue(t, depth-1)
		}
		return "[" + strings.Join(elements, anySpace(t)+",") + "]"
	default:
		return rapid.SampledFrom(scalars).Draw(t, "scalar")
	}
}

func anyObject(t *rapid.T, depth int) string {
	fields := make([]string, rapid.IntRange(0, 6).Draw(t, "size"))
	for i := range fields {
		fields[i] = anyName(t) + anySpace(t) + ":" + anySpace(t) + anyValue(t, max(depth, 0)) + anySpace(t)
	}
	return "{" + strings.Join(fields, ",") + "}"
}

// anyName is one of the names that Parse knows, one letter escaped at times.
func anyName(t *rapid.T) string {
	name := rapid.SampledFrom(names).Draw(t, "name")
	if rapid.IntRange(0, 7).Draw(t, "escape") == 0 {
		i := rapid.IntRange(0, len(name)-1).Draw(t, "at")
		name = name[:i] + fmt.Sprintf(`\u%04x`, name[i]) + name[i+1:]
	}
	return `"` + name + `"`
}

func anySpace(t *rapid.T) string {
	return rapid.SampledFrom([]string{"", "", "", " ", "\r\n\t"}).Draw(t, "space")
}

func mutate(t *rapid.T, body string) string {
	i := rapid.IntRange(0, len(body)).Draw(t, "from")
	j := rapid.IntRange(i, min(len(body), i+8)).Draw(t, "to")
	switch rapid.IntRange(0, 3).Draw(t, "mutation") {
	case 0:
		return body[:i]
	case 1:
		return body[:j] + body[i:]
	default:
		return body[:i] + rapid.SampledFrom(pieces).Draw(t, "piece") + body[j:]
	}
}
