package main

import (
	"os"
	"slices"
	"strings"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/projections"
)

// rulesFlags determine the fold id.
type rulesFlags struct {
	CatalogueFile string `name:"catalogue-file" env:"CATALOGUE_FILE" help:"YAML file that says what each product grants; empty: the metadata does."`
	Mode          string `name:"provider-mode" env:"PROVIDER_MODE" default:"any" help:"Which of the provider's modes count: any, live or test."`

	rules projections.Rules
}

// Check implements cli.Checked.
func (r *rulesFlags) Check(faults *cli.Faults) {
	mode, err := projections.ParseMode(r.Mode)
	faults.Add(err)
	r.rules = projections.Rules{Mode: mode}
	if r.CatalogueFile == "" {
		return
	}
	text, err := os.ReadFile(r.CatalogueFile)
	if err != nil {
		faults.Addf("CATALOGUE_FILE: %w", err)
		return
	}
	if r.rules.Catalogue, err = catalogue.Parse(text); err != nil {
		for fault := range strings.SplitSeq(err.Error(), "\n") {
			faults.Addf("CATALOGUE_FILE %s: %s", r.CatalogueFile, fault)
		}
	}
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
