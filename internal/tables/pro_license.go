package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed pro_license.sql
var proLicenseDDL string

// Licenses has the licence of each user.
var Licenses = &Table[projections.ProLicense]{
	Definition: Definition{
		Name: "pro_license", DDL: proLicenseDDL, Key: OfUser, NameColumns: []string{"user_id"},
		lookups: []lookup{{step: stepUsers, where: "user_id = any($1)", by: []NameKind{OfUser}}},
		indexes: []indexOn{primary("user_id")},
	},
	rows:  func(s *projections.State) stateRows[projections.ProLicense] { return &s.Licenses },
	put:   func(s *projections.State, r projections.ProLicense) { s.Licenses.Load(r.UserID, r) },
	names: func(r *projections.ProLicense) RowNames { return RowNames{r.UserID} },
}
