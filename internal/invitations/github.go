package invitations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/go-github/v66/github"
)

// GitHub is a client of one repository. Every error of its methods is a *problem. Safe for
// concurrent use.
type GitHub struct {
	http        *http.Client
	credentials Credentials
	base        *url.URL
	owner, name string
	permission  string
	now         func() time.Time
}

// githubName matches the names of GitHub users, managed users included. Buyers choose
// names, and go-github writes them into the path without escaping, so no other text may
// reach it.
var githubName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{0,99}$`)

// access is a user's access to the repository.
type access struct {
	collaborator bool
	pending      *invitation // not accepted yet; nil: none
}

// open reports whether the user has access or can still accept an invitation.
func (a access) open() bool { return a.collaborator || a.pending != nil && !a.pending.expired }

// invitation is an invitation at GitHub.
type invitation struct {
	id        int64
	createdAt time.Time
	expired   bool
	user      string // the name under which GitHub lists it; empty if it was made just now
}

// expiresAfter is how long GitHub keeps an invitation open.
const expiresAfter = 7 * 24 * time.Hour

// Look returns the user's access. It finds the recorded invitation (nil: none) even if GitHub lists it under
// another name, because its user may have renamed the account. A permanent problem means that these
// credentials cannot see the repository.
func (g *GitHub) Look(ctx context.Context, user string, recorded *int64) (known access, err error) {
	ctx, end := startCall(ctx, "GitHub look")
	defer func() { end(err) }()
	client := g.client()
	pending, err := g.pending(ctx, client, user, recorded) // comes first: a user who accepts meanwhile has access in the next answer
	if err != nil {
		return access{}, err
	}
	if pending != nil { // the old name of a renamed account may belong to another user
		user = pending.user
	}
	collaborator, response, err := client.Repositories.IsCollaborator(ctx, g.owner, g.name, user)
	if err != nil {
		return access{}, problemOf(response, err, g.now())
	}
	if collaborator && response.StatusCode != http.StatusNoContent { // a proxy has answered
		return access{}, &problem{kind: unclear, message: messageOf(response.StatusCode, nil)}
	}
	if collaborator {
		return access{collaborator: true}, nil
	}
	return access{pending: pending}, nil
}

// listedInvitation adds a field that go-github lacks.
type listedInvitation struct {
	github.RepositoryInvitation
	Expired bool `json:"expired"`
}

// maxReads bounds the reads of a list of invitations that changes meanwhile.
const maxReads = 5

// pending finds the user's invitation or the recorded one. It prefers an open one to an expired one, then the
// recorded one. When an invitation ends, those after it may move to a page that was read already. So if the
// list has several pages and no open invitation is found, pending reads until two reads agree.
func (g *GitHub) pending(ctx context.Context, client *github.Client, user string, recorded *int64) (*invitation, error) {
	var before []int64
	for range maxReads {
		list, pages, err := g.invitations(ctx, client)
		if err != nil {
			return nil, err
		}
		found, ids := g.choose(list, user, recorded)
		if found != nil && !found.expired || pages < 2 || slices.Equal(ids, before) {
			return found, nil
		}
		before = ids
	}
	return nil, &problem{kind: unclear, message: fmt.Sprintf("the list of invitations changed during each of %d reads", maxReads)}
}

// maxPages bounds the pages of a list of invitations, and so the memory for a list that never ends. A page has 100.
const maxPages = 100

// invitations reads all pages of the list.
func (g *GitHub) invitations(ctx context.Context, client *github.Client) (all []listedInvitation, pages int, err error) {
	for page := 1; page != 0; pages++ {
		request, err := client.NewRequest(http.MethodGet, fmt.Sprintf("repos/%s/%s/invitations?per_page=100&page=%d", g.owner, g.name, page), nil)
		if err != nil {
			return nil, 0, problemOf(nil, err, g.now())
		}
		var list []listedInvitation
		response, err := client.Do(ctx, request, &list)
		if err != nil {
			return nil, 0, problemOf(response, err, g.now())
		}
		all = append(all, list...)
		if page = response.NextPage; page != 0 && pages == maxPages-1 {
			return nil, 0, &problem{kind: unclear, message: fmt.Sprintf("the list of invitations has more than %d pages", maxPages)}
		}
	}
	return all, pages, nil
}

// choose returns the user's invitation or the recorded one, and the sorted ids of all.
func (g *GitHub) choose(list []listedInvitation, user string, recorded *int64) (found *invitation, ids []int64) {
	for _, one := range list {
		ids = append(ids, one.GetID())
		isRecorded := recorded != nil && one.GetID() == *recorded
		if !isRecorded && !strings.EqualFold(one.GetInvitee().GetLogin(), user) {
			continue
		}
		candidate := &invitation{id: one.GetID(), createdAt: one.GetCreatedAt().UTC(), user: user}
		if login := one.GetInvitee().GetLogin(); githubName.MatchString(login) {
			candidate.user = login
		}
		candidate.expired = one.Expired || !candidate.createdAt.Add(expiresAfter).After(g.now())
		if found == nil || found.expired && !candidate.expired || found.expired == candidate.expired && isRecorded {
			found = candidate
		}
	}
	slices.Sort(ids)
	return found, ids
}

// Invite asks GitHub to invite the user. It returns nil if the user has access already. After
// an unclear problem GitHub may have invited.
func (g *GitHub) Invite(ctx context.Context, user string) (_ *invitation, err error) {
	ctx, end := startCall(ctx, "GitHub invite")
	defer func() { end(err) }()
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

// Cancel deletes an invitation that was not accepted yet. It is no error if there is none.
func (g *GitHub) Cancel(ctx context.Context, id int64) (err error) {
	ctx, end := startCall(ctx, "GitHub cancel")
	defer func() { end(err) }()
	response, err := g.client().Repositories.DeleteInvitation(ctx, g.owner, g.name, id)
	return g.ignoreNotFound(response, err)
}

// Remove ends a collaborator's access. It is no error if the user has none.
func (g *GitHub) Remove(ctx context.Context, user string) (err error) {
	ctx, end := startCall(ctx, "GitHub remove")
	defer func() { end(err) }()
	response, err := g.client().Repositories.RemoveCollaborator(ctx, g.owner, g.name, user)
	return g.ignoreNotFound(response, err)
}

func (g *GitHub) ignoreNotFound(response *github.Response, err error) error {
	if err == nil || response != nil && response.Response != nil && response.StatusCode == http.StatusNotFound {
		return nil
	}
	return problemOf(response, err, g.now())
}

// client returns a new client for each call. A go-github client remembers a rate limit, and
// returns errors without a request while it lasts. payfold has its pauses in the database, for
// all processes.
func (g *GitHub) client() *github.Client {
	client := github.NewClient(g.http)
	if token := g.credentials.reveal().token; token != "" { // the transport adds those of an App
		client = client.WithAuthToken(token)
	}
	client.BaseURL = g.base
	return client
}
