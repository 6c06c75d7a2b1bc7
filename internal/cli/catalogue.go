package cli

import (
	"os"
	"strings"

	"github.com/payfold/payfold/internal/catalogue"
)

// CatalogueFlag names the catalogue.
type CatalogueFlag struct {
	File string `name:"catalogue-file" env:"CATALOGUE_FILE" help:"YAML file that says what each product grants; empty: the metadata does. ingest reads it for give and import."`
}

// Read returns the catalogue; nil if none is named. All that is wrong with it is a fault.
func (c *CatalogueFlag) Read(faults *Faults) *catalogue.Catalogue {
	if c.File == "" {
		return nil
	}
	text, err := os.ReadFile(c.File)
	if err != nil {
		faults.Addf("CATALOGUE_FILE: %w", err)
		return nil
	}
	sold, err := catalogue.Parse(text)
	if err != nil {
		for fault := range strings.SplitSeq(err.Error(), "\n") {
			faults.Addf("CATALOGUE_FILE %s: %s", c.File, fault)
		}
	}
	return sold
}
