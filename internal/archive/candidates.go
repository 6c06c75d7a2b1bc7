package archive

import (
	"cmp"
	"slices"

	"github.com/payfold/payfold/internal/archive/segment"
)

// candidates are the segments that a place lists, by what their names say.
type candidates []candidate

type candidate struct {
	name        string
	first, last uint64 // last is 0 for a segment as it was cut: only its footer has its last sequence
}

// newCandidates sorts by first. With the same first, those that hold more come first.
func newCandidates(names []string) (out candidates) {
	for _, name := range names {
		if first, last, ok := segment.ParseName(name); ok {
			out = append(out, candidate{name, first, last})
		}
	}
	slices.SortFunc(out, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.first, b.first), cmp.Compare(b.last, a.last))
	})
	return slices.Compact(out)
}

// first returns the lowest sequence; 0 if there is none.
func (c candidates) first() uint64 {
	if len(c) == 0 {
		return 0
	}
	return c[0].first
}

// after returns the lowest first sequence above seq; 0 if there is none.
func (c candidates) after(seq uint64) uint64 {
	for _, candidate := range c {
		if candidate.first > seq {
			return candidate.first
		}
	}
	return 0
}

// reaches reports whether, according to its name, a segment holds seq or a later sequence.
func (c candidates) reaches(seq uint64) bool {
	return slices.ContainsFunc(c, func(candidate candidate) bool { return max(candidate.first, candidate.last) >= seq })
}

// holding returns the names of segments that may hold a sequence, the best one first. First come
// merged ones that hold it, the longest first. Then come those as they were cut, the nearest first.
func (c candidates) holding(seq uint64) (names []string) {
	var merged, cut candidates
	for _, candidate := range c {
		switch {
		case candidate.first > seq:
		case candidate.last == 0:
			cut = append(cut, candidate)
		case candidate.last >= seq:
			merged = append(merged, candidate)
		}
	}
	slices.SortStableFunc(merged, func(a, b candidate) int { return cmp.Compare(b.last, a.last) })
	slices.Reverse(cut)
	if len(cut) > 0 && cut[0].first == seq || len(merged) > 0 {
		cut = cut[:min(len(cut), 1)]
	}
	for _, candidate := range append(merged, cut...) {
		names = append(names, candidate.name)
	}
	return names
}

// split returns the names of the segments that do not lie within a merged one, and the names of those that do.
func (c candidates) split() (visible, replaced []string) {
	reach := uint64(0)
	for _, candidate := range c {
		if max(candidate.first, candidate.last) > reach {
			visible = append(visible, candidate.name)
		} else {
			replaced = append(replaced, candidate.name)
		}
		reach = max(reach, candidate.last)
	}
	return visible, replaced
}
