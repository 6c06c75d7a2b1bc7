package docs

import "strings"

// expand lists every command that a line of a usage block describes.
func expand(line string) []string {
	for _, symbol := range []string{"[", "]", "(", ")", "|"} {
		line = strings.ReplaceAll(line, symbol, " "+symbol+" ")
	}
	e := expander{strings.Fields(line)}
	return e.choices()
}

type expander struct{ words []string }

// choices reads sequences that are separated by |, up to a closing bracket.
func (e *expander) choices() []string {
	out := e.sequence()
	for len(e.words) > 0 && e.words[0] == "|" {
		e.words = e.words[1:]
		out = append(out, e.sequence()...)
	}
	return out
}

func (e *expander) sequence() []string {
	out := []string{""}
	for len(e.words) > 0 {
		next := e.words[0]
		if next == "|" || next == "]" || next == ")" {
			break
		}
		e.words = e.words[1:]
		options := []string{next}
		if next == "[" || next == "(" {
			options = e.choices()
			if len(e.words) > 0 {
				e.words = e.words[1:] // the closing bracket
			}
		}
		if next == "[" {
			options = append(options, "")
		}
		var longer []string
		for _, before := range out {
			for _, option := range options {
				longer = append(longer, strings.TrimSpace(before+" "+option))
			}
		}
		out = longer
	}
	return out
}
