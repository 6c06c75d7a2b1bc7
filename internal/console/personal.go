package console

import (
	"encoding/json"
	"regexp"
	"slices"

	"github.com/payfold/payfold/internal/invitations"
	"github.com/payfold/payfold/internal/report/browse"
	"github.com/payfold/payfold/internal/report/explain"
	"github.com/payfold/payfold/internal/report/page"
	"github.com/payfold/payfold/internal/report/status"
)

// mask shows only the first character of a name.
func mask(show bool, text string) string {
	text = page.Clean(text)
	if show || text == "" {
		return text
	}
	return string([]rune(text)[:1]) + "•••"
}

// masked stands in place of a text that may have personal data.
const masked = "masked; a console with CONSOLE_SHOW_PERSONAL_DATA=true shows it"

// hidePersonalData replaces the database's errors about quarantined events: they may repeat names and
// bodies.
func (c *Console) hidePersonalData(quarantined []status.Quarantined) {
	if c.ShowPersonalData {
		return
	}
	for i := range quarantined {
		quarantined[i].Error = masked
	}
}

// hideNotes replaces the notes of spends: apps write in them what they like.
func (c *Console) hideNotes(wallet *explain.Wallet) {
	if c.ShowPersonalData || wallet == nil {
		return
	}
	for i := range wallet.Spends.Items {
		if one := &wallet.Spends.Items[i]; one.Note != nil {
			one.Note = new(masked)
		}
	}
}

// hideNames masks the name of an invitation's GitHub user in the invitation's reason, which has GitHub's words.
func (c *Console) hideNames(list []invitations.Invitation) {
	for i := range list {
		c.hideName(&list[i])
	}
}

// hideWaits masks the name in what each invitation waits for, too.
func (c *Console) hideWaits(list []browse.Invitation) {
	for i := range list {
		c.hideName(&list[i].Invitation)
		list[i].Waits = list[i].Why()
	}
}

func (c *Console) hideName(one *invitations.Invitation) {
	if one.Reason != nil && one.GitHubUser != nil {
		hide := func(name string) string { return mask(c.ShowPersonalData, name) }
		one.Reason = new(invitations.ReplaceName(*one.Reason, *one.GitHubUser, hide))
	}
}

// gitHubNames matches the fields of JSON that contain names of people.
var gitHubNames = regexp.MustCompile(`("(?:github_username|github)":")((?:[^"\\]|\\.)*)(")`)

// maskNames is mask for JSON.
func maskNames(text []byte) []byte {
	return gitHubNames.ReplaceAllFunc(text, func(found []byte) []byte {
		parts := gitHubNames.FindSubmatch(found)
		var name string
		if json.Unmarshal(slices.Concat([]byte(`"`), parts[2], parts[3]), &name) != nil {
			name = "?" // the name is masked even if it cannot be read
		}
		hidden, _ := page.Marshal(mask(false, name)) // never fails for a text
		return slices.Concat(parts[1][:len(parts[1])-1], hidden)
	})
}
