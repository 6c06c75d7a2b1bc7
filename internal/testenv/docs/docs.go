// Package docs checks that everything the documents name exists in the repository: links,
// paths, commands, variables, metrics, alerts, tables, make targets and tests. Only tests use it.
//
// It reads *.md of the root folder and docs/**/*.md. Names are in `inline code` and code
// blocks.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// Repository is a folder with sources and documents.
type Repository struct {
	files     map[string]string // by path; the content of text files
	documents []document
	index     func() *index // what makeIndex returns; made once
}

// document is one Markdown file.
type document struct {
	path    string
	blocks  []block
	spans   []place // inline code
	links   []place
	anchors map[string]bool
}

// block is a fenced code block.
type block struct {
	place
	language string
}

// place is a piece of text with its file and line.
type place struct{ where, text string }

// Open reads the repository in root.
func Open(root string) (*Repository, error) {
	r := &Repository{files: map[string]string{}}
	r.index = sync.OnceValue(r.makeIndex)
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && (name == ".git" || name == "bin" || name == "dist" || name == "data" || entry.Name() == "testdata"):
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		text, err := os.ReadFile(path)
		r.files[filepath.ToSlash(name)] = string(text)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the repository: %w", err)
	}
	for path, text := range r.files {
		if strings.HasSuffix(path, ".md") && (!strings.Contains(path, "/") || strings.HasPrefix(path, "docs/")) {
			r.documents = append(r.documents, parse(path, text))
		}
	}
	return r, nil
}

// Blocks returns the code blocks of a language in all documents, by file and line.
func (r *Repository) Blocks(language string) map[string]string {
	out := map[string]string{}
	for _, d := range r.documents {
		for _, b := range d.blocks {
			if b.language == language {
				out[b.where] = b.text
			}
		}
	}
	return out
}

var (
	span    = regexp.MustCompile("`([^`]+)`")
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ +(.*)$`)
	// notInAnchor matches what GitHub leaves out of a heading's anchor.
	notInAnchor = regexp.MustCompile(`[^\pL\pN _-]`)
)

// parse joins the lines of each paragraph, because inline code can span two lines.
func parse(path, text string) document {
	d := document{path: path, anchors: map[string]bool{}}
	var paragraph []string
	end := func(line int) {
		where := fmt.Sprintf("%s:%d", path, line-len(paragraph))
		joined := strings.Join(paragraph, " ")
		for _, match := range span.FindAllStringSubmatch(joined, -1) {
			d.spans = append(d.spans, place{where, match[1]})
		}
		for _, match := range link.FindAllStringSubmatch(span.ReplaceAllString(joined, ""), -1) {
			d.links = append(d.links, place{where, match[1]})
		}
		paragraph = nil
	}
	var fenced *block
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		number := i + 1
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```") && fenced == nil:
			end(number)
			fenced = &block{place{fmt.Sprintf("%s:%d", path, number), ""}, strings.TrimPrefix(trimmed, "```")}
		case strings.HasPrefix(trimmed, "```"):
			d.blocks = append(d.blocks, *fenced)
			fenced = nil
		case fenced != nil:
			fenced.text += line + "\n"
		case trimmed == "" || strings.HasPrefix(trimmed, "|") || strings.HasPrefix(trimmed, "- "):
			end(number)
			paragraph = append(paragraph, line)
		default:
			if match := heading.FindStringSubmatch(line); match != nil {
				d.anchors[anchor(match[1])] = true
			}
			paragraph = append(paragraph, line)
		}
	}
	end(len(lines) + 1)
	return d
}

func anchor(title string) string {
	return strings.ReplaceAll(notInAnchor.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}
