package docs

import "strings"

// expand lists every command that a line of a usage block stands for.
func expand(line string) []string {
	for _, mark := range []string{"[", "]", "(", ")", "|"} {
		line = strings.ReplaceAll(line, mark, " "+mark+" ")
	}
	e := expander{strings.Fields(line)}
	return e.choices()
}

type expander struct{ words []string }

// choices reads sequences with | between them, up to a bracket that closes.
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
				e.words = e.words[1:] // what closes it
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
