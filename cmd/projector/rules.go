package main

import (
	"slices"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/projections"
)

// rulesFlags determine the fold id.
type rulesFlags struct {
	cli.CatalogueFlag
	Mode string `name:"provider-mode" env:"PROVIDER_MODE" default:"any" help:"Which events count: live (real money), test, or any."`

	rules projections.Rules
}

// Check implements cli.Checked.
func (r *rulesFlags) Check(faults *cli.Faults) {
	mode, err := projections.ParseMode(r.Mode)
	faults.Add(err)
	r.rules = projections.Rules{Mode: mode, Catalogue: r.Read(faults)}
}

// extrasFlag lists the extra projections.
type extrasFlag struct {
	With []string `name:"with" placeholder:"NAME" help:"Also fold a projection that the live tables do not have: revenue_daily."`
}

func (e *extrasFlag) check(rules *projections.Rules, faults *cli.Faults) {
	for _, name := range e.With {
		if !projections.IsExtra(name) {
			faults.Addf("--with %s: there is no such projection", name)
		}
	}
	slices.Sort(e.With)
	rules.Extras = slices.Compact(e.With)
}
