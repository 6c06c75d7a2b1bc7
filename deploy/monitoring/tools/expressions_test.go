// Package tools runs every expression of the rules and the dashboard on the metrics of real programs.
package tools

import (
	"context"
	"encoding/json"
	"log/slog"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/tsdb"
	"github.com/stretchr/testify/require"
)

// A misspelt metric or label makes an alert that never fires and a panel that is always empty. So every
// expression must give something, whatever it is compared with.
func TestEveryExpressionFindsMetricsOfTheRealPrograms(t *testing.T) {
	p := &prometheus{t: t, parser: parser.NewParser(parser.Options{}), end: time.Now().Truncate(time.Second)}
	p.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p.parser,
	})
	t.Cleanup(func() { require.NoError(t, p.engine.Close()) })
	var err error
	options := tsdb.DefaultOptions()
	options.RetentionDuration = int64(100 * 24 * time.Hour / time.Millisecond)
	p.db, err = tsdb.Open(t.TempDir(), slog.New(slog.DiscardHandler), nil, options, nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.db.Close()) })
	p.store(scrapes(t))

	rules, problems := rulefmt.ParseFile("../rules.yaml", false, model.UTF8Validation, p.parser, slog.New(slog.DiscardHandler))
	require.Empty(t, problems)
	for _, group := range rules.Groups {
		for _, rule := range group.Rules {
			found := p.requireSomething(rule.Record+rule.Alert, rule.Expr)
			if rule.Record != "" {
				p.record(rule.Record, found)
			}
		}
	}
	for title, expressions := range panels(t) {
		for _, expression := range expressions {
			p.requireSomething(title, strings.ReplaceAll(expression, "$__rate_interval", "5m"))
		}
	}
}

// panels returns the expressions of the dashboard by the title of their panel.
func panels(t *testing.T) map[string][]string {
	t.Helper()
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	text, err := os.ReadFile("../dashboard.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &dashboard))
	expressions := map[string][]string{}
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			expressions[panel.Title] = append(expressions[panel.Title], target.Expr)
		}
	}
	require.Greater(t, len(expressions), 20)
	return expressions
}

// prometheus is a database of metrics and what evaluates expressions on it.
type prometheus struct {
	t      *testing.T
	db     *tsdb.DB
	engine *promql.Engine
	parser parser.Parser
	end    time.Time // of the newest sample
}

// store puts in the samples as they were scraped, half a minute apart until now, and the same before:
// five and ten minutes, two hours, a day and a week.
func (p *prometheus) store(scrapes [][]sample) {
	for _, ago := range []time.Duration{7 * 24 * time.Hour, 24 * time.Hour, 2 * time.Hour, 10 * time.Minute, 5 * time.Minute, 0} {
		appender := p.db.Appender(context.Background())
		for i, samples := range scrapes {
			at := p.end.Add(-ago - time.Duration(len(scrapes)-1-i)*30*time.Second)
			for _, s := range samples {
				_, err := appender.Append(0, s.series, at.UnixMilli(), s.value)
				require.NoError(p.t, err, s.series)
			}
		}
		require.NoError(p.t, appender.Commit())
	}
}

func (p *prometheus) record(name string, found promql.Vector) {
	appender := p.db.Appender(context.Background())
	for _, s := range found {
		series := labels.NewBuilder(s.Metric).Set(labels.MetricName, name).Labels()
		_, err := appender.Append(0, series, p.end.UnixMilli(), s.F)
		require.NoError(p.t, err)
	}
	require.NoError(p.t, appender.Commit())
}

// requireSomething evaluates all parts of an expression. It returns what the whole expression gives.
func (p *prometheus) requireSomething(where, text string) promql.Vector {
	whole, err := p.parser.ParseExpr(text)
	require.NoError(p.t, err, where)
	for _, part := range parts(whole) {
		found := p.evaluate(part.String())
		require.NotEmpty(p.t, found, "%s: %s gives nothing", where, part)
		for _, s := range found {
			require.False(p.t, math.IsNaN(s.F), "%s: %s is no number", where, part)
		}
	}
	return p.evaluate(text)
}

func (p *prometheus) evaluate(text string) promql.Vector {
	query, err := p.engine.NewInstantQuery(context.Background(), p.db, nil, text, p.end)
	require.NoError(p.t, err, text)
	defer query.Close()
	result := query.Exec(context.Background())
	require.NoError(p.t, result.Err, text)
	switch value := result.Value.(type) {
	case promql.Vector:
		return append(promql.Vector{}, value...)
	case promql.Scalar:
		return promql.Vector{{F: value.V}}
	}
	require.Fail(p.t, "not a vector", "%s", text)
	return nil
}

// parts returns the parts of an expression of which each has to give something while all is well: what is
// compared, both sides of and, or and unless, and that of which the absence is asked for.
func parts(e parser.Expr) []parser.Expr {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return parts(e.Expr)
	case *parser.BinaryExpr:
		if e.Op.IsSetOperator() || e.Op.IsComparisonOperator() {
			return append(parts(e.LHS), parts(e.RHS)...)
		}
	case *parser.Call:
		if e.Func.Name == "absent" {
			return parts(e.Args[0])
		}
	}
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		if inner, ok := node.(*parser.BinaryExpr); ok && inner.Op.IsComparisonOperator() {
			inner.ReturnBool = true
		}
		return nil
	})
	return []parser.Expr{e}
}
