package report

import "github.com/payfold/payfold/internal/invitations"

func (u User) invitationsText(p *page) {
	if len(u.Invitations) == 0 {
		return
	}
	p.section("INVITATIONS of this user's purchases")
	var rows [][]string
	for _, one := range u.Invitations {
		rows = append(rows, []string{
			name(one.PaymentID), name(optional(one.GitHubUser)), name(one.Repository), one.Status, at(one.ChangedAt), Clean(InvitationReason(one)),
		})
	}
	p.table("payment,GitHub user,repository,status,since,reason", rows)
}

// InvitationReason is what is recorded, or why one waits that nothing was recorded
// for; a dash where there is nothing to say.
func InvitationReason(one invitations.Invitation) string {
	switch {
	case optional(one.Reason) != "":
		return *one.Reason
	case one.Status != invitations.Pending:
		return "-"
	case one.GitHubUser == nil:
		return "waits for a GitHub user"
	case one.Repository == "":
		return "waits for INVITE_REPOSITORY"
	default:
		return "waits for its turn"
	}
}

func optional(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
