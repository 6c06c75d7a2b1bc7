package providers

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// noGitHubUser stands for a name that no table can store. GitHub cannot have it, either.
const noGitHubUser = "(no name)"

// githubUser returns the GitHub user that login names. The buyer writes this name, and a wrong name must not cost the
// buyer what was paid for. So a name that does not fit becomes noGitHubUser, and the event stays valid.
func (t *texts) githubUser(login scalar) string {
	if !login.fits() {
		return noGitHubUser
	}
	return t.copy(login.text)
}

// asLogin returns the value with the login that it names as its text; none if it names nobody.
func asLogin(value scalar) scalar {
	if !value.isText() {
		return none
	}
	if value.text = loginOf(value.text); len(value.text) == 0 {
		return none
	}
	return value
}

// loginOf returns the login in a text that a person typed: a name, the address of a page of that user, or either in a
// Markdown link, with anything around it that no login has. It is empty if the text names nobody. It does not decode
// percent escapes: no login needs one, and a decoded byte may be one that no table can store.
func loginOf(text []byte) []byte {
	text = trimmed(visible(text))
	if label, target, isLink := markdownLink(text); isLink {
		if text = trimmed(target); indexHost(text) < 0 {
			text = trimmed(label)
		}
	}
	login := bytes.TrimFunc(text, func(r rune) bool { return r == '/' || isAround(r) })
	if at := indexHost(text); at >= 0 {
		login = bytes.TrimLeft(text[at+len(host):], "/@")
		if end := bytes.IndexFunc(login, endsSegment); end >= 0 {
			login = login[:end]
		}
	}
	first, _, _ := bytes.Cut(login, []byte("/"))
	if isPlaceholder(login) || reserved[string(bytes.ToLower(first))] {
		return nil
	}
	return login
}

// host is followed by the login.
const host = "github.com/"

// indexHost returns where the host begins, in any case; -1 if it is not there.
func indexHost(text []byte) int {
	for at := 0; at+len(host) <= len(text); at++ {
		if bytes.EqualFold(text[at:at+len(host)], []byte(host)) {
			return at
		}
	}
	return -1
}

func trimmed(text []byte) []byte { return bytes.TrimFunc(text, isAround) }

// isAround reports whether people write the character around a name.
func isAround(r rune) bool {
	switch r {
	case '@', '<', '>', '"', '\'', '`', '“', '”', '‘', '’', '«', '»':
		return true
	}
	return unicode.IsSpace(r)
}

// endsSegment reports whether the character ends the first part of an address's path.
func endsSegment(r rune) bool {
	switch r {
	case '/', '?', '#', '<', '>', '(', ')', '[', ']', '"', '\'', '`', ',', ';':
		return true
	}
	return unicode.IsSpace(r)
}

// markdownLink splits [label](target).
func markdownLink(text []byte) (label, target []byte, isLink bool) {
	if !bytes.HasPrefix(text, []byte("[")) || !bytes.HasSuffix(text, []byte(")")) {
		return nil, nil, false
	}
	return bytes.Cut(text[1:len(text)-1], []byte("]("))
}

// visible returns the text without the characters that nobody sees, such as a zero-width space.
func visible(text []byte) []byte {
	if bytes.IndexFunc(text, isInvisible) < 0 {
		return text
	}
	return bytes.Map(func(r rune) rune {
		if isInvisible(r) {
			return -1
		}
		return r
	}, text)
}

func isInvisible(r rune) bool {
	return r >= utf8.RuneSelf &&
		unicode.In(r, unicode.Cf, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

// reserved are first parts of the path of GitHub's own pages. GitHub gives nobody these names.
var reserved = func() map[string]bool {
	names := map[string]bool{}
	for name := range strings.FieldsSeq("about account apps codespaces collections contact customer-stories dashboard " +
		"enterprise events explore features issues join login logout marketplace new notifications organizations orgs " +
		"pricing pulls search security sessions settings signup site sponsors stars team topics trending users watching") {
		names[name] = true
	}
	return names
}()
