package providers

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/testenv/golden"
)

const goldenFile = "testdata/golden.txt"

// golden.txt has the event of each body of the corpus, or the error. If it changes, the
// tables or the answers to a caller change.
func TestEveryBodyIsReadAsTheGoldenFileSays(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, body := range nastyBodies {
		fmt.Fprintf(&out, "%q\n\t%s\n", body, result(t, specification, []byte(body)))
	}
	bodies := realBodies(t)
	for _, name := range slices.Sorted(maps.Keys(bodies)) {
		p := providerOf(name)
		fmt.Fprintf(&out, "%s\n\t%s\n", name, result(t, p, bodies[name]))
		out.WriteString(broken(t, p, "broken off after", bodies[name], func(i int) []byte { return bodies[name][:i] }))
		if len(bodies[name]) < 1000 { // the others are like these, longer
			out.WriteString(broken(t, p, "with another byte at", bodies[name], func(i int) []byte { return mutant(bodies[name], i) }))
		}
	}
	if golden.Updating() {
		require.NoError(t, os.WriteFile(goldenFile, []byte(out.String()), 0o644))
	}
	want, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	wanted, got := strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")
	for i := range min(len(wanted), len(got)) {
		require.Equal(t, wanted[i], got[i], "line %d of %s; go test ./internal/providers -update writes it anew", i+1, goldenFile)
	}
	require.Len(t, got, len(wanted))
}

// broken lists how each change of a body is read. Neighbouring changes with the same result are
// one line.
func broken(t testing.TB, p *Provider, change string, body []byte, changed func(i int) []byte) string {
	t.Helper()
	var out strings.Builder
	short := func(i int) string {
		said := parseError(p, changed(i))
		return cmp.Or(nearByte.FindString(said), said)
	}
	for from := 0; from < len(body); {
		to, said := from+1, short(from)
		for to < len(body) && short(to) == said {
			to++
		}
		fmt.Fprintf(&out, "\t%s %d to %d: %s\n", change, from, to-1, said)
		from = to
	}
	return out.String()
}

var nearByte = regexp.MustCompile(`near byte \d+$`)

// mutant returns the body with another byte at i. The byte depends only on i.
func mutant(body []byte, i int) []byte {
	const marks = "\"\\{}[],:0-.e \x00\x1f\xc3tu"
	out := bytes.Clone(body)
	out[i] = marks[i%len(marks)]
	return out
}

func parseError(p *Provider, body []byte) string {
	_, err := p.Parse(body, "msg_1")
	var syntax *SyntaxError
	switch {
	case err == nil:
		return "an event"
	case errors.As(err, &syntax):
		return syntax.Detail
	}
	return "not a SyntaxError: " + err.Error()
}

func parse(body []byte) (events.Event, error) { return specification.Parse(body, "") }

// result lists every field of the event that is set, or returns the error. It overwrites the
// body before it reads the event, because no part of an event may be a part of its body.
func result(t testing.TB, p *Provider, body []byte) string {
	t.Helper()
	scratch := bytes.Clone(body)
	event, err := p.Parse(scratch, "msg_1")
	require.Equal(t, body, scratch, "Parse changes the body")
	if err != nil {
		return parseError(p, body)
	}
	for i := range scratch {
		scratch[i] = '#'
	}
	var out []string
	fields := reflect.ValueOf(event)
	for i := range fields.NumField() {
		if field := fields.Field(i); !field.IsZero() {
			out = append(out, fmt.Sprintf("%s:%+q", fields.Type().Field(i).Name, fmt.Sprint(field)))
		}
	}
	return strings.Join(out, " ")
}
