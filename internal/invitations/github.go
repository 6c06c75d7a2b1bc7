package invitations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"
)

// GitHub is one repository at GitHub, seen with one set of credentials. Every
// error of its methods is a problem. Safe for concurrent use.
type GitHub struct {
	http        *http.Client // adds the credentials
	base        *url.URL
	owner, name string
	permission  string
	now         func() time.Time
}

// githubName is what a GitHub user's name can be, those of managed users
// included. go-github puts the name into the path as it is, and a buyer chooses
// it: anything else must never get there.
var githubName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// standing is what GitHub knows of a user.
type standing struct {
	collaborator bool
	pending      *invitation
}

// invitation is one of GitHub's.
type invitation struct {
	id        int64
	createdAt time.Time
	expired   bool
}

// expiresAfter is how long GitHub keeps an invitation open.
const expiresAfter = 7 * 24 * time.Hour

// Look returns what GitHub knows of the user. A problem of kind refused means
// that the repository cannot be seen.
func (g *GitHub) Look(ctx context.Context, user string) (standing, error) {
	client := g.client()
	collaborator, response, err := client.Repositories.IsCollaborator(ctx, g.owner, g.name, user)
	if err != nil {
		return standing{}, problemOf(response, err, g.now())
	}
	if collaborator && response.StatusCode != http.StatusNoContent { // some page of a proxy
		return standing{}, &problem{kind: unclear, words: wordsOf(response.StatusCode, nil)}
	}
	if collaborator {
		return standing{collaborator: true}, nil
	}
	pending, err := g.pending(ctx, client, user)
	return standing{pending: pending}, err
}

// listed is an invitation with the field that go-github leaves out.
type listed struct {
	github.RepositoryInvitation
	Expired bool `json:"expired"`
}

// pending finds the user's invitation; an open one before an expired one.
func (g *GitHub) pending(ctx context.Context, client *github.Client, user string) (found *invitation, err error) {
	for page := 1; page != 0; {
		request, err := client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/invitations?per_page=100&page=%d", g.owner, g.name, page), nil)
		if err != nil {
			return nil, problemOf(nil, err, g.now())
		}
		var list []listed
		response, err := client.Do(ctx, request, &list)
		if err != nil {
			return nil, problemOf(response, err, g.now())
		}
		for _, one := range list {
			if !strings.EqualFold(one.GetInvitee().GetLogin(), user) {
				continue
			}
			candidate := &invitation{id: one.GetID(), createdAt: one.GetCreatedAt().UTC()}
			candidate.expired = one.Expired || !candidate.createdAt.Add(expiresAfter).After(g.now())
			if found == nil || found.expired {
				found = candidate
			}
		}
		page = response.NextPage
	}
	return found, nil
}

// Invite asks GitHub to invite the user; nil where the user has access already.
// A problem of kind unclear may have invited.
func (g *GitHub) Invite(ctx context.Context, user string) (*invitation, error) {
	made, response, err := g.client().Repositories.AddCollaborator(ctx, g.owner, g.name, user,
		&github.RepositoryAddCollaboratorOptions{Permission: g.permission})
	switch {
	case err == nil && response.StatusCode == http.StatusNoContent:
		return nil, nil // go-github returns an empty invitation
	case err == nil && response.StatusCode == http.StatusCreated && made.GetID() != 0:
		return &invitation{id: made.GetID(), createdAt: made.GetCreatedAt().UTC()}, nil
	case err == nil:
		err = errors.New("an answer without an invitation")
	}
	return nil, problemOf(response, err, g.now())
}

// Cancel takes an invitation back that has not been accepted; one that is gone
// is none.
func (g *GitHub) Cancel(ctx context.Context, id int64) error {
	response, err := g.client().Repositories.DeleteInvitation(ctx, g.owner, g.name, id)
	return g.gone(response, err)
}

// Remove ends a collaborator's access; one who has none is no problem.
func (g *GitHub) Remove(ctx context.Context, user string) error {
	response, err := g.client().Repositories.RemoveCollaborator(ctx, g.owner, g.name, user)
	return g.gone(response, err)
}

func (g *GitHub) gone(response *github.Response, err error) error {
	if err == nil || response != nil && response.Response != nil && response.StatusCode == http.StatusNotFound {
		return nil
	}
	return problemOf(response, err, g.now())
}

// client is a new one for each call: go-github remembers limits on its own, by
// the clock of the machine, and answers by itself while they last. Pauses are
// the reconciler's, and all processes share them.
func (g *GitHub) client() *github.Client {
	client := github.NewClient(g.http)
	client.BaseURL = g.base
	return client
}
