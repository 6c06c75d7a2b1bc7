package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// summaries are the programs in one line, for man -k.
var summaries = map[string]string{
	"ingest":    `receive signed payment events into an append-only log`,
	"projector": `fold the log of payment events into tables of Postgres`,
}

// environments are the sections of docs/configuration.md with a program's variables.
var environments = map[string][]string{
	"ingest":    {"Both programs", "Signing secrets", "ingest", "Traces"},
	"projector": {"Both programs", "Signing secrets", "projector", "The console", "Traces"},
}

// manPages returns a page for each program. It is made of the tables and lists of docs/command-line.md
// and docs/configuration.md, which are printed from the programs.
func (b *built) manPages() ([]document, error) {
	commands, err := os.ReadFile(b.path("docs/command-line.md"))
	if err != nil {
		return nil, err
	}
	variables, err := os.ReadFile(b.path("docs/configuration.md"))
	if err != nil {
		return nil, err
	}
	var out []document
	for _, program := range programs {
		var environment string
		for _, title := range environments[program] {
			environment += rows(section(string(variables), title))
		}
		page := fmt.Sprintf(".TH %s 1 %s \"payfold %s\"\n", strings.ToUpper(program), b.time.Format("2006-01-02"), b.version) +
			".SH NAME\n" + program + ` \- ` + summaries[program] + "\n" +
			".SH SYNOPSIS\n" + usage(section(string(commands), program)) +
			".SH DESCRIPTION\nEach variable of the environment is also a flag: NATS_URL is \\-\\-nats\\-url. " +
			"\\-\\-help lists the flags of a command, \\-\\-version what the program was built from.\n" +
			".SH ENVIRONMENT\n" + environment +
			".SH EXIT STATUS\n" + rows(section(string(commands), "Output and exit status")) +
			fmt.Sprintf(".SH FILES\n.TP\n/etc/payfold/%s.env\nthe environment of the unit payfold\\-%[1]s.service\n", program) +
			".TP\n/etc/payfold/secrets.env\nthe signing secrets of the providers\n.TP\n/var/lib/payfold\nDATA_DIR of the units\n" +
			".SH SEE ALSO\ndocs/ of payfold\n"
		out = append(out, document{program + ".1", []byte(page)})
	}
	return out, nil
}

// section returns the text below a heading of the second level, up to the next one.
func section(markdown, title string) string {
	_, text, _ := strings.Cut(markdown, "\n## "+title+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// usage returns the usage block of a section as it is.
func usage(text string) string {
	_, block, _ := strings.Cut(text, "```usage\n")
	block, _, _ = strings.Cut(block, "```")
	return ".nf\n" + roff(block) + ".fi\n"
}

// rows returns the rows of a section's table: the first cell as a term, the last one as its description,
// and of three the middle one as a default.
func rows(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(line, "|\n"), "|")
		if !row.MatchString(line) {
			continue
		}
		description := plain(cells[len(cells)-1])
		if standard := plain(cells[1]); len(cells) > 2 && standard != "" {
			description += " (default: " + standard + ")"
		}
		fmt.Fprintf(&out, ".TP\n%s\n%s\n", roff(plain(cells[0])), roff(description))
	}
	return out.String()
}

var (
	// row matches a row with a name or a number, which the head of a table has not.
	row  = regexp.MustCompile("^\\| *[`0-9]")
	link = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// plain returns a cell without the marks of Markdown.
func plain(cell string) string {
	return strings.TrimSpace(strings.ReplaceAll(link.ReplaceAllString(cell, "$1"), "`", ""))
}

// roff escapes what roff would act on.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", "...").Replace(text)
	return startOfRequest.ReplaceAllString(text, `\&$1`)
}

// startOfRequest matches what begins a request of roff at the beginning of a line.
var startOfRequest = regexp.MustCompile(`(?m)^([.'])`)
