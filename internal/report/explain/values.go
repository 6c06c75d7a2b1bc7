package explain

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"github.com/payfold/payfold/internal/report/page"
)

// at formats a time to the second. JSON has the full precision.
func at(t time.Time) string { return cmp.Or(page.Time(t), "-") }

func digits[N ~int | ~int64 | ~uint64](n N) string { return fmt.Sprint(n) }

func optionalDigits(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func optionalTime(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return at(*t)
}

func optionalName(text *string) string {
	if text == nil {
		return "-"
	}
	return page.Name(*text)
}

func signed(n int64) string { return fmt.Sprintf("%+d", n) }

// earlier says how many items a list leaves out.
func earlier[T any](p *page.Page, list Part[T], what string) {
	switch {
	case list.Earlier > 0 && list.More:
		p.Line("  (more than %d earlier %s not shown; --limit shows more)", list.Earlier, what)
	case list.Earlier > 0:
		p.Line("  (%d earlier %s not shown; --limit shows more)", list.Earlier, what)
	case list.More:
		p.Line("  (earlier %s not shown; --limit shows more)", what)
	}
}
