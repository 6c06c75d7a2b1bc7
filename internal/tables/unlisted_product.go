package tables

import "github.com/payfold/payfold/internal/projections"

// UnlistedProducts has the products that events have named and the catalogue lacks.
var UnlistedProducts = &Table[projections.UnlistedProduct]{
	Definition: Definition{
		Name: "unlisted_product", InsertOnly: true, Shared: true,
		indexes: []indexOn{primary("product")},
	},
	rows: func(s *projections.State) stateRows[projections.UnlistedProduct] {
		return insertOnlyRows[projections.UnlistedProduct]{added: s.Unlisted.Inserted()}
	},
}
