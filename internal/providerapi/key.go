package providerapi

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"unicode"
)

// Key is the key of a provider's API. It is always printed as [redacted].
type Key struct{ text string }

const redacted = "[redacted]"

// NewKey reads the text of a key. The error does not repeat it.
func NewKey(text string) (Key, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return Key{}, errors.New("a key has printable ASCII characters only, and no space")
	}
	return Key{text}, nil
}

// IsZero reports whether there is no key.
func (k Key) IsZero() bool { return k.text == "" }

// Format implements fmt.Formatter, for every verb.
func (Key) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// String implements fmt.Stringer.
func (Key) String() string { return redacted }

func (Key) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Key) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// redact returns the beginning of an answer as one line that can be printed, without the key.
func (k Key) redact(answer []byte) string {
	text := string(answer)
	if k.text != "" {
		text = strings.ReplaceAll(text, k.text, redacted)
	}
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxSaid {
		return string(runes[:maxSaid]) + " …"
	}
	return text
}
