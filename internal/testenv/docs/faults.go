package docs

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Faults lists every link, path and name in the documents that the repository does not
// have, and every document that no other one links to. For commands see CommandFaults.
func (r *Repository) Faults() []string {
	known := r.index()
	faults := r.orphans()
	for _, d := range r.documents {
		for _, l := range d.links {
			faults = append(faults, r.linkFaults(d, l)...)
		}
		for _, code := range d.code() {
			for _, name := range known.missing(code.text) {
				faults = append(faults, fmt.Sprintf("%s: there is no %s", code.where, name))
			}
		}
	}
	slices.Sort(faults)
	return slices.Compact(faults)
}

// orphans lists documents in docs that no other one links to.
func (r *Repository) orphans() []string {
	linked := map[string]bool{}
	for _, d := range r.documents {
		for _, l := range d.links {
			target, _, _ := strings.Cut(l.text, "#")
			if file := path.Join(path.Dir(d.path), target); file != d.path {
				linked[file] = true
			}
		}
	}
	var out []string
	for _, d := range r.documents {
		if strings.HasPrefix(d.path, "docs/") && !linked[d.path] {
			out = append(out, "no document links to "+d.path)
		}
	}
	return out
}

// code returns all inline code and each line of the code blocks that are written by hand.
func (d document) code() []place {
	out := slices.Clone(d.spans)
	for _, b := range d.blocks {
		if b.language == usage {
			continue
		}
		for line := range strings.Lines(b.text) {
			out = append(out, place{b.where, strings.TrimSpace(line)})
		}
	}
	return out
}

func (r *Repository) linkFaults(d document, l place) []string {
	if strings.Contains(l.text, "://") || strings.HasPrefix(l.text, "mailto:") {
		return nil
	}
	target, fragment, _ := strings.Cut(l.text, "#")
	file := d.path
	if target != "" {
		file = path.Join(path.Dir(d.path), target)
	}
	if !r.has(file) {
		return []string{fmt.Sprintf("%s: the link %s leads nowhere", l.where, l.text)}
	}
	if fragment == "" {
		return nil
	}
	for _, other := range r.documents {
		if other.path == file && other.anchors[fragment] {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s: %s has no heading #%s", l.where, file, fragment)}
}

// has says whether a file or folder exists.
func (r *Repository) has(name string) bool {
	name = strings.TrimSuffix(name, "/")
	if _, ok := r.files[name]; ok {
		return true
	}
	for file := range r.files {
		if strings.HasPrefix(file, name+"/") {
			return true
		}
	}
	return false
}
