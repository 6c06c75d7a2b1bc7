package tables

import (
	_ "embed"

	"github.com/payfold/payfold/internal/projections"
)

//go:embed pro_license.sql
var proLicenseDDL string

// Licenses is the licence of each user.
var Licenses = &Table[projections.ProLicense]{
	Definition: Definition{
		Name: "pro_license", DDL: proLicenseDDL, Key: OfUser, NameIn: []string{"user_id"},
		lookups: []lookup{{step: ofUsers, where: "user_id = any($1)", by: []NameKind{OfUser}}},
		indexes: []indexOn{primary("user_id")},
	},
	rows:  func(s *projections.State) rows[projections.ProLicense] { return &s.Licenses },
	put:   func(s *projections.State, r projections.ProLicense) { s.Licenses.Load(r.UserID, r) },
	names: func(r *projections.ProLicense) RowNames { return RowNames{r.UserID} },
}
