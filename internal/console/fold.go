package console

import (
	"slices"

	"github.com/payfold/payfold/internal/projections"
	"github.com/payfold/payfold/internal/report/explain"
)

// folded is a list of which a page shows the first items, and the rest after a click.
type folded[T any] struct{ Shown, Rest []T }

const maxUnfolded = 10

func fold[T any](list []T) folded[T] {
	n := min(len(list), maxUnfolded)
	return folded[T]{list[:n], list[n:]}
}

// foldGrants shows the next grants that will be spent, and those that are held or owe credits. What has nothing left
// comes after a click. Each part is in the order in which grants are spent.
func foldGrants(list []explain.Grant) folded[explain.Grant] {
	var matter, used []explain.Grant
	for _, g := range list {
		if g.Usable != 0 || g.Held != 0 || g.Owes != 0 {
			matter = append(matter, g)
		} else {
			used = append(used, g)
		}
	}
	out := fold(matter)
	out.Rest = append(slices.Clip(out.Rest), used...)
	return out
}

// foldPayments shows the newest payments, the newest first. The list is in the order of the log.
func foldPayments(list []projections.Payment) folded[projections.Payment] {
	list = slices.Clone(list)
	slices.Reverse(list)
	return fold(list)
}
