package providers

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestAGitHubLoginIsReadAsPeopleTypeIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"octo": "octo", "@octo": "octo", " octo ": "octo", "@@octo": "octo", " @ octo\t": "octo", "octo/": "octo",
		"@octo/": "octo", "/octo": "octo", "/ octo /": "octo",
		"Octo-Cat": "Octo-Cat", "octo_acme": "octo_acme", `"octo"`: "octo", "'@octo'": "octo", "`octo`": "octo",
		"“octo”": "octo", "<octo>": "octo",

		"github.com/octo": "octo", "https://github.com/octo/": "octo", "https://www.github.com/octo/repo?tab=x": "octo",
		"github.com/octo?tab=x": "octo", "github.com/octo#x": "octo", "github.com//octo/": "octo", "GitHub.com/octo": "octo",
		"https://GitHub.com/Octo": "Octo", "HTTPS://WWW.GITHUB.COM/octo": "octo", "@https://github.com/octo": "octo",
		"@@github.com/octo": "octo", "https://github.com/@octo": "octo", "<https://github.com/octo>": "octo",
		"Octo <https://github.com/octo>": "octo", "https://github.com/octo, my account": "octo",
		`"https://github.com/octo"`: "octo",

		"[octo](https://github.com/octo)": "octo", "[@Octo Cat](https://GitHub.com/octo/)": "octo",
		"[octo](<https://github.com/octo>)": "octo",
		"[@octo](https://example.com)":      "octo", "@[octo](https://github.com/octo)": "octo",
		" [x](github.com/octo?tab=x) ": "octo",

		"\u200bocto": "octo", "oc\u200dto\ufeff": "octo", "\u202aocto\u202c": "octo", "octo\ufe0f": "octo",
		"\u00a0octo\u00a0": "octo",
		"@\u2060octo":      "octo", "git\u00adhub.com/oc\u200bto": "octo", "octo\u3164": "octo",
	} {
		require.Equal(t, want, string(loginOf([]byte(text))), text)
	}
}

func TestAnAddressOfAnotherPageOfGitHubNamesNobody(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"github.com/", "https://github.com/?octo", "https://github.com//", "https://github.com/orgs/acme",
		"https://GitHub.com/Orgs/acme/people",
		"github.com/users/octo", "https://github.com/sponsors/octo", "https://github.com/settings/profile", "orgs/acme",
		"/users/octo",
		"https://github.com/login?return_to=https://github.com/octo", "[me](https://github.com/settings/profile)",
		"", " ", "@", "@/", "<>", "\u200b", "[]()", "https://github.com/@",
		"undefined", "@undefined", "https://github.com/undefined", "github.com/null/", "None", " NaN ", "<nil>",
		"[object Object]", "@[object Object]",
	} {
		require.Empty(t, string(loginOf([]byte(text))), text)
	}
}

// Such a name is kept, so that its invitation fails and a person sees it. A part of it could be the name of a stranger.
func TestATextThatIsNoLoginIsKept(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"n/a", "Octo Cat", "octo@example.com", "https://example.com/octo", "octo, or hubot",
		"octo?tab=x", "oc\u00fcto", "-",
	} {
		require.Equal(t, text, string(loginOf([]byte(text))))
	}
}

func TestTheNextPlaceIsAskedForALogin(t *testing.T) {
	t.Parallel()
	for _, first := range []any{"undefined", "@", "  ", "https://github.com/orgs/acme", nil, true, map[string]any{}} {
		event := with(t, map[string]any{"metadata.github_username": first, "metadata.github": "octo"})
		require.Equal(t, "octo", event.GitHubUser, first)
	}
}

// A buyer writes it, also by pasting the address of some page.
func TestAGitHubUserThatNoTableCanStoreDoesNotMakeTheEventInvalid(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", MaxText)
	for text, want := range map[string]string{
		`a\u0000b`: noGitHubUser, `\ud800`: noGitHubUser, long + `x`: noGitHubUser,
		`https://github.com/` + long + `x`:       noGitHubUser,
		`https://github.com/octo?return=` + long: "octo", long: long,
	} {
		event, err := parse([]byte(`{"id":"e","eventType":"t","object":{"metadata":{"github":"` + text + `"}}}`))
		require.NoError(t, err)
		require.False(t, event.InvalidText, text)
		require.Equal(t, want, event.GitHubUser, text)
	}
}

func TestNoEscapeInAnAddressBecomesAPartOfAGitHubUser(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"github.com/%00": "%00", "https://github.com/octo%ff/x": "octo%ff", "github.com/%2e%2e": "%2e%2e",
		"github.com/%zz":      "%zz",
		"github.com/oc\x7fto": "oc\x7fto", "ht tp://github.com/ü ": "ü",
	} {
		require.Equal(t, want, string(loginOf([]byte(text))), text)
	}
}

func FuzzLogin(f *testing.F) {
	for _, text := range []string{
		"octo", "@https://GitHub.com/@octo?x", "[a](<https://github.com/b>)", "oc\u200dto", "orgs/x", "<nil>",
		"\u200b[](github.com/)", "“@”",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !utf8.Valid(text) { // no body has it
			return
		}
		before := bytes.Clone(text)
		login := loginOf(text)
		require.True(t, bytes.Equal(before, text), "the body is not changed")
		require.True(t, utf8.Valid(login))
		require.LessOrEqual(t, len(login), len(text))
		require.Negative(t, bytes.IndexFunc(login, isInvisible))
		require.Equal(t, string(login), string(bytes.TrimSpace(login)))
		first, _, _ := strings.Cut(strings.ToLower(string(login)), "/")
		require.False(t, reserved[first] || isPlaceholder([]byte(first)), "%q of %q", login, text)
	})
}
