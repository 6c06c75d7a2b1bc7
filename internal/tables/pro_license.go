package tables

import "github.com/payfold/payfold/internal/projections"

// Licenses has the licence of each user.
var Licenses = &Table[projections.ProLicense]{
	Definition: Definition{
		Name: "pro_license", Key: OfUser,
		lookups: []lookup{{step: stepUsers, where: "user_id = any($1)", by: []NameKind{OfUser}}},
		indexes: []indexOn{primary("user_id")},
	},
	rows: func(s *projections.State) stateRows[projections.ProLicense] { return &s.Licenses },
	put:  (*projections.State).LoadLicense,
	// An active licence needs no payments to be loaded with it. A revoked licence does: its payment
	// may be of another user or kind now.
	links: func(r *projections.ProLicense) Links {
		if r.RevokedAt.IsZero() {
			return nil
		}
		return Links{{OfLicensed, r.UserID}}
	},
}
