package store_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/testenv/fixture"
	"github.com/payfold/payfold/internal/testenv/golden"
)

// unsaid has the texts of columns that docs/reference.md only lists.
var unsaid = map[string]string{
	"user_id": "the user", "product_key": "the product", "subscription_id": "the subscription",
	"current_period_start": "when the current period began", "current_period_end": "when the current period ends",
	"canceled_at": "when it was cancelled; null: it was not", "revoked_at": "when it was revoked; null: it is active",
	"granted": "what was granted, after corrections", "reversed": "what refunds and chargebacks have taken back",
	"event_id": "the event", "log_id": "the log", "balance": "credits that have not expired and were not taken back",
}

// lineWidth bounds the text of a line.
const lineWidth = 110

// general is what the reference says of these columns in all tables.
var general = map[string]string{
	"event_id": "the id ", "stream_seq": "the place in the log ", "occurred_at": "the provider's time ",
}

var (
	heading = regexp.MustCompile("(?m)^### `(\\w+)`(?:, (.*))?$")
	line    = regexp.MustCompile("(?m)^\\| ((?:`\\w+`(?:, )?)+) \\| (.*?) ?\\|$")
	link    = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	name    = regexp.MustCompile("`(\\w+)`")
)

// comments returns the statements that give each table and column its text of the reference.
func comments(reference string, columnsOf map[string][]string) string {
	_, reference, _ = strings.Cut(reference, "\n## The tables\n")
	var out strings.Builder
	comment := func(object, text string) {
		text = strings.ReplaceAll(link.ReplaceAllString(text, "$1"), "`", "")
		fmt.Fprintf(&out, "comment on %s is", object)
		width := lineWidth
		for i, word := range strings.Fields(strings.ReplaceAll(text, "'", "''")) {
			switch width += len(word) + 1; {
			case i == 0:
				out.WriteString("\n  '")
				width = len(word)
			case width > lineWidth:
				out.WriteString(" '\n  '")
				width = len(word)
			default:
				out.WriteString(" ")
			}
			out.WriteString(word)
		}
		out.WriteString("';\n")
	}
	out.WriteString("-- Printed from docs/reference.md: make docs\n")
	above := map[string]string{}
	sections := heading.FindAllStringSubmatchIndex(reference, -1)
	for i, at := range sections {
		table, title := reference[at[2]:at[3]], "the licence of a user"
		if at[4] >= 0 {
			title = reference[at[4]:at[5]]
		}
		if columnsOf[table] == nil {
			continue
		}
		end := len(reference)
		if i+1 < len(sections) {
			end = sections[i+1][0]
		}
		section, _, _ := strings.Cut(reference[at[1]:end], "\n### ")
		out.WriteString("\n")
		comment("table "+table, table+": "+title)
		for _, row := range line.FindAllStringSubmatch(section, -1) {
			for _, column := range name.FindAllStringSubmatch(row[1], -1) {
				text := row[2]
				switch {
				case !slices.Contains(columnsOf[table], column[1]): // a row of another table of the section
					continue
				case text == "":
					text = unsaid[column[1]]
				case text == "as above":
					text = above[column[1]]
				case strings.HasPrefix(text, "of "):
					text = general[column[1]] + text
				}
				above[column[1]] = text
				if !strings.Contains(out.String(), "comment on column "+table+"."+column[1]+" is") {
					comment("column "+table+"."+column[1], text)
				}
			}
		}
	}
	out.WriteString("\n")
	comment("table credit_balance", "grants that can be spent, without what apps have spent; see wallet.balance")
	comment("column credit_balance.user_id", unsaid["user_id"])
	comment("column credit_balance.balance", unsaid["balance"])
	comment("table payment_facts", "for the rules, not for apps: read the view payment")
	comment("table subscription_facts", "for the rules, not for apps: read the views subscription_state and entitlement")
	comment("view license_facts", "for the rules, not for apps: read pro_license and the view entitlement")
	comment("view subscription_access", "for the rules, not for apps: read the view entitlement")
	return out.String()
}

func TestTheCommentsArePrintedFromTheReference(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	reference, err := os.ReadFile("../../docs/reference.md")
	require.NoError(t, err)
	columnsOf, views := map[string][]string{}, map[string]bool{}
	rows, err := s.Pool().Query(ctx, `select c.relname::text, c.relkind = 'v', array_agg(a.attname::text) from pg_class c
		join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
		where c.relnamespace = 'portal'::regnamespace and c.relkind in ('r', 'v') group by 1, 2`)
	require.NoError(t, err)
	var table string
	var view bool
	var columns []string
	_, err = pgx.ForEachRow(rows, []any{&table, &view, &columns}, func() error {
		columnsOf[table], views[table] = columns, view
		return nil
	})
	require.NoError(t, err)
	text := comments(string(reference), columnsOf)
	for view, is := range views {
		if is {
			text = strings.ReplaceAll(text, "comment on table "+view+" is", "comment on view "+view+" is")
		}
	}
	golden.Require(t, "comments.sql", []byte(text))
}

// The working tables have columns that no app reads.
func TestEveryTableAndColumnThatAnAppReadsHasAComment(t *testing.T) {
	t.Parallel()
	ctx, s := fixture.Tables(t)
	missing, err := store.Collect(ctx, s.Pool(), "look for comments", pgx.RowTo[string], `
		select format('%s.%s', c.oid::regclass, a.attname) from pg_class c
		join pg_attribute a on a.attrelid = c.oid and a.attnum >= 0 and not a.attisdropped
		where c.relnamespace in ('portal'::regnamespace, 'wallet'::regnamespace) and c.relkind in ('r', 'v', 'c')
			and c.relname not like '%\_facts' and c.relname <> 'subscription_access' and coalesce(col_description(c.oid, a.attnum), '') = ''
		union all
		select c.oid::regclass::text from pg_class c
		where c.relnamespace in ('portal'::regnamespace, 'wallet'::regnamespace) and c.relkind in ('r', 'v')
			and coalesce(obj_description(c.oid, 'pg_class'), '') = ''
		union all
		select p.oid::regprocedure::text from pg_proc p
		where p.pronamespace = 'wallet'::regnamespace and p.prosecdef and coalesce(obj_description(p.oid, 'pg_proc'), '') = ''
		order by 1`)
	require.NoError(t, err)
	require.Empty(t, missing)
}
