package console

import (
	"regexp"
	"strings"
)

var (
	tableParts = regexp.MustCompile(`(?s)<table[^>]*>.*?</table>`)
	headings   = regexp.MustCompile(`(?s)<th scope="col"[^>]*>(.*?)</th>`)
	terms      = regexp.MustCompile(`{{template "term" "(.*?)"}}`)
	bodyRows   = regexp.MustCompile(`(?s)<tr>.*?</tr>`)
	cells      = regexp.MustCompile(`<td[ >]`)
)

// labelled gives each cell of a template's tables the heading of its column as data-label. In a narrow window the style
// sheet makes a card of each row, and shows these labels.
func labelled(source string) string {
	return tableParts.ReplaceAllStringFunc(source, func(table string) string {
		head, body, found := strings.Cut(table, "</thead>")
		if !found {
			return table
		}
		var names []string
		for _, heading := range headings.FindAllStringSubmatch(head, -1) {
			names = append(names, terms.ReplaceAllString(heading[1], "$1"))
		}
		body = bodyRows.ReplaceAllStringFunc(body, func(row string) string {
			column := -1
			return cells.ReplaceAllStringFunc(row, func(cell string) string {
				if column++; column >= len(names) {
					return cell
				}
				return `<td data-label="` + names[column] + `"` + strings.TrimPrefix(cell, "<td")
			})
		})
		return head + "</thead>" + body
	})
}
