package page

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean escapes everything that a terminal acts on, as Go does (\x1b, \u202e): control
// characters, characters that change the direction of writing, invalid UTF-8.
func Clean(text string) string {
	if strings.IndexFunc(text, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }) < 0 {
		return text
	}
	var out strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case unicode.IsPrint(r) && !(r == utf8.RuneError && size == 1):
			out.WriteRune(r)
		default:
			out.WriteString(strings.Trim(strconv.QuoteToGraphic(text[:size]), `"`))
		}
		text = text[size:]
	}
	return out.String()
}
