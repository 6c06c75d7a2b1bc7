package report

import (
	"fmt"
	"io"

	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/verify"
)

// Findings writes what a verification finds, as sentences or JSON lines.
type Findings struct {
	Out  io.Writer
	JSON bool
}

// Fault writes a fault of a message.
func (f Findings) Fault(fault verify.Fault) {
	if f.JSON {
		f.line(fault)
		return
	}
	fmt.Fprintf(f.Out, "message %d: %s\n", fault.Seq, fault.Fault)
}

// Checkpoint writes whether the log begins with a checkpoint. If it does not, refused says why. If the
// checkpoint is not accepted, refused says why, and c is empty.
func (f Findings) Checkpoint(c proof.Checkpoint, refused error) {
	if !f.JSON {
		if refused != nil {
			fmt.Fprintf(f.Out, "%v; the tables were not compared\n", refused)
			return
		}
		fmt.Fprintf(f.Out, "the log begins with the checkpoint of %s: %s, seq %d to %d\n", c.Origin, page.Count(c.Size, "message"), c.First, c.Last())
		return
	}
	fault := ""
	if refused != nil {
		fault = refused.Error()
	}
	f.line(struct {
		Origin string `json:"origin,omitempty"`
		Size   uint64 `json:"size"`
		Root   string `json:"root"`
		LogID  string `json:"log_id,omitempty"`
		First  uint64 `json:"first_seq"`
		Holds  bool   `json:"checkpoint_holds"`
		Fault  string `json:"fault,omitempty"`
	}{c.Origin, c.Size, c.Root.String(), c.LogID, c.First, refused == nil, fault})
}

// Difference writes a row that differs from the fold of the log.
func (f Findings) Difference(d verify.Difference) {
	why := ""
	if d.OutOfOrder {
		why = " (out of order)"
	}
	switch {
	case f.JSON:
		f.line(d)
	case d.Fault == verify.Changed:
		for _, column := range d.Columns {
			fmt.Fprintf(f.Out, "%s %q: %s is %s, the log gives %s%s\n", d.Table, d.Key, column.Column, orNull(column.Is), orNull(column.Should), why)
		}
	case d.Fault == verify.Missing:
		fmt.Fprintf(f.Out, "%s %q: the row is missing%s\n", d.Table, d.Key, why)
	default:
		fmt.Fprintf(f.Out, "%s %q: unexpected row%s\n", d.Table, d.Key, why)
	}
}

// Definition writes an object or a right that differs from what this build makes.
func (f Findings) Definition(d verify.DefinitionDifference) {
	switch {
	case f.JSON:
		f.line(d)
	case d.Fault == verify.Changed:
		fmt.Fprintf(f.Out, "%s: it is %s, this build makes %s\n", d.Object, orNull(d.Is), orNull(d.Should))
	case d.Fault == verify.Missing:
		fmt.Fprintf(f.Out, "%s: it is missing\n", d.Object)
	default:
		fmt.Fprintf(f.Out, "%s: unexpected; this build does not make it\n", d.Object)
	}
}

func orNull(text *string) string {
	if text == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *text)
}

// Verdict writes the result of the verification.
func (f Findings) Verdict(v verify.Verdict) {
	if f.JSON {
		f.line(v)
		return
	}
	for _, sum := range v.Sums {
		if sum.Wrong > 0 {
			fmt.Fprintf(f.Out, "violated: %s (%s)\n", sum.Rule, page.Count(sum.Wrong, "row"))
		}
	}
	if v.Lost > 0 {
		fmt.Fprintf(f.Out, "%s lost with an earlier log: a mark stands for each\n", page.Clause(v.Lost, "message", "was", "were"))
	}
	if v.Own > 0 {
		fmt.Fprintf(f.Out, "%s of the shop itself, signed with the secret of its own events\n", page.Clause(v.Own, "message", "is", "are"))
	}
	if v.Pulled > 0 {
		fmt.Fprintf(f.Out, "%s pulled from an API, without a signature%s\n", page.Clause(v.Pulled, "message", "was", "were"), notWrong(v))
	}
	if v.Unverifiable > 0 {
		fmt.Fprintf(f.Out, "%s signed with a secret that was not given%s\n", page.Clause(v.Unverifiable, "message", "was", "were"), notWrong(v))
	}
	if v.OutOfOrder > 0 {
		settle := "projector settle"
		if v.Schema != store.LiveSchema {
			settle = "projector rebuild"
		}
		fmt.Fprintf(f.Out, "%s because events were applied out of the log's order; to settle: %s\n",
			page.Clause(v.OutOfOrder, "row", "differs", "differ"), settle)
	}
	if v.Holds() {
		fmt.Fprintf(f.Out, "%s is what the log gives, up to seq %d\n", v.Schema, v.Position)
		return
	}
	row := "row"
	if v.OutOfOrder > 0 {
		row = "other row"
	}
	fmt.Fprintf(f.Out, "%s up to seq %d: %s, %s and %s are wrong\n", v.Schema, v.Position,
		page.Count(v.Faults, "message"), page.Count(v.Differences, row), page.Count(v.Definitions, "definition"))
}

func notWrong(v verify.Verdict) string {
	if v.Strict {
		return ""
	}
	return "; with --strict that counts as wrong"
}

func (f Findings) line(value any) { _ = page.JSON(f.Out, value) }
