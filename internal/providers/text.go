package providers

import (
	"bytes"
	"strings"
)

// maxText bounds the text of a field, in bytes. An index row of Postgres holds 2.7 kB, and no
// provider's ids are nearly that long.
const maxText = 255

// fits reports whether a table can store the scalar as text.
func (s *scalar) fits() bool {
	return !s.broken && len(s.text) <= maxText && bytes.IndexByte(s.text, 0) < 0
}

// texts copies an event's texts into one buffer, until the buffer is full.
type texts struct {
	buffer  strings.Builder
	invalid bool // a text does not fit
}

// of returns the text of value.
func (t *texts) of(value scalar) string {
	t.invalid = t.invalid || !value.fits()
	return t.ofOptional(value)
}

// ofOptional returns the text of value, or nothing if it does not fit.
func (t *texts) ofOptional(value scalar) string {
	if !value.fits() {
		return ""
	}
	return t.copy(value.text)
}

const textBuffer = 256 // bytes; enough for most events

func (t *texts) copy(text []byte) string {
	if t.buffer.Cap() == 0 {
		t.buffer.Grow(textBuffer)
	}
	begin := t.buffer.Len()
	if t.buffer.Cap()-begin < len(text) {
		return string(text)
	}
	t.buffer.Write(text)
	return t.buffer.String()[begin:]
}

// noGitHubUser stands for a name that no table can store. GitHub cannot have it, either.
const noGitHubUser = "(no name)"

// githubUser returns the GitHub user that value names. The buyer writes this name, and a wrong name must not cost the
// buyer what was paid for. So a name that does not fit becomes noGitHubUser, and the event stays valid.
func (t *texts) githubUser(value scalar) string {
	if value.text = loginOf(value.text); !value.fits() {
		return noGitHubUser
	}
	return t.copy(value.text)
}

// loginOf removes a leading @, or takes the login from the address of a profile page. It does not decode percent
// escapes: no login needs one, and a decoded byte may be one that no table can store.
func loginOf(name []byte) []byte {
	name = bytes.TrimPrefix(bytes.TrimSpace(name), []byte("@"))
	_, path, isAddress := bytes.Cut(name, []byte("github.com/"))
	if !isAddress {
		return name
	}
	path = bytes.TrimLeft(path, "/")
	if end := bytes.IndexAny(path, "/?#"); end >= 0 {
		path = path[:end]
	}
	return path
}
