package testenv

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/testenv/wait"
)

// What tests configure for the repository of a GitHub.
const (
	GitHubRepository = "acme/tool"
	GitHubToken      = "github_pat_0123456789abcdef"
)

// GitHub is the one fake: an HTTP server with one private repository that keeps
// state and answers as GitHub's documentation says. What it says for a user can
// be scripted. Safe for concurrent use.
type GitHub struct {
	URL string
	App GitHubApp // whose installation may be used instead of the token

	server        *httptest.Server
	now           func() time.Time
	mu            sync.Mutex
	nextID        int64
	invitations   []*GitHubInvitation
	collaborators map[string]bool
	unknown       map[string]bool // names of no user
	scripts       map[string][]Reply
	requests      []GitHubRequest
	sent          map[string]int
	repeated      map[string]int
	arrived       chan GitHubRequest
}

// GitHubInvitation is one that has been neither accepted nor declined.
type GitHubInvitation struct {
	ID        int64
	Login     string
	CreatedAt time.Time
}

// GitHubRequest is one that arrived, and when.
type GitHubRequest struct {
	Method, Path, Permission string
	At                       time.Time
}

// GitHubApp is an App with one installation.
type GitHubApp struct {
	ID, Installation int64
	Key              *rsa.PublicKey
	Refuses          int // status for requests of a token; 0: a token
}

// Reply is a scripted answer to one request that would invite a user, or to any
// request (user "").
type Reply struct {
	Status  int // 0: as it would have answered
	Header  map[string]string
	Body    string
	Acts    bool          // GitHub does what it was asked, whatever it answers
	Drops   bool          // the connection breaks instead of an answer
	Holds   chan struct{} // it answers once this is closed, or the caller has hung up
	Arrived chan struct{} // closed when the request has arrived, and been acted on
}

// NewGitHub starts one; now is its time.
func NewGitHub(t testing.TB, now func() time.Time) *GitHub {
	t.Helper()
	g := &GitHub{
		now: now, collaborators: map[string]bool{}, unknown: map[string]bool{}, scripts: map[string][]Reply{},
		sent: map[string]int{}, repeated: map[string]int{}, arrived: make(chan GitHubRequest, 10_000),
	}
	g.server = httptest.NewServer(http.HandlerFunc(g.serve))
	g.server.Config.SetKeepAlivesEnabled(false) // none is left for goleak to find
	g.URL = g.server.URL
	t.Cleanup(g.server.Close)
	return g
}

// Script makes it answer the next requests to invite a user with these; user ""
// stands for the next requests of any kind.
func (g *GitHub) Script(user string, replies ...Reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scripts[lower(user)] = append(g.scripts[lower(user)], replies...)
}

// Forget drops what is left of every script.
func (g *GitHub) Forget() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scripts = map[string][]Reply{}
}

// Unknown makes it have no such user.
func (g *GitHub) Unknown(user string) { g.locked(func() { g.unknown[lower(user)] = true }) }

// Known: the user has registered.
func (g *GitHub) Known(user string) { g.locked(func() { delete(g.unknown, lower(user)) }) }

// Join gives a user access without any invitation.
func (g *GitHub) Join(user string) { g.locked(func() { g.collaborators[lower(user)] = true }) }

// Accept accepts the user's open invitation; there must be one.
func (g *GitHub) Accept(t require.TestingT, user string) {
	g.Decline(t, user)
	g.Join(user)
}

// Decline declines the user's invitation; there must be one.
func (g *GitHub) Decline(t require.TestingT, user string) {
	g.locked(func() {
		one := g.invitationOf(user)
		require.NotNil(t, one, "%s has no invitation", user)
		g.remove(one.ID)
	})
}

// Invitation returns the user's pending invitation, expired or not; nil: none.
func (g *GitHub) Invitation(user string) (found *GitHubInvitation) {
	g.locked(func() { found = g.invitationOf(user) })
	return found
}

// HasAccess says whether the user is a collaborator.
func (g *GitHub) HasAccess(user string) (is bool) {
	g.locked(func() { is = g.collaborators[lower(user)] })
	return is
}

// Sent is how many invitations it has made for the user.
func (g *GitHub) Sent(user string) (n int) {
	g.locked(func() { n = g.sent[lower(user)] })
	return n
}

// Repeated is how often it was asked to invite a user whose invitation was open.
func (g *GitHub) Repeated(user string) (n int) {
	g.locked(func() { n = g.repeated[lower(user)] })
	return n
}

// Requests lists what has arrived; method "" stands for all.
func (g *GitHub) Requests(method string) (list []GitHubRequest) {
	g.locked(func() {
		for _, one := range g.requests {
			if method == "" || one.Method == method {
				list = append(list, one)
			}
		}
	})
	return list
}

// AwaitInvite waits for the next request that would invite.
func (g *GitHub) AwaitInvite(t testing.TB) GitHubRequest {
	t.Helper()
	deadline := time.After(wait.Patience)
	for {
		select {
		case one := <-g.arrived:
			if one.Method == http.MethodPut {
				return one
			}
		case <-deadline:
			require.Fail(t, "GitHub was not asked to invite")
		}
	}
}

// Address is where the API listens, parsed.
func (g *GitHub) Address() *url.URL {
	address, err := url.Parse(g.URL)
	if err != nil {
		panic(err)
	}
	return address
}

func (g *GitHub) locked(do func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	do()
}

func lower(user string) string { return strings.ToLower(user) }

func (g *GitHub) invitationOf(user string) *GitHubInvitation {
	for _, one := range g.invitations {
		if lower(one.Login) == lower(user) {
			return one
		}
	}
	return nil
}

func (g *GitHub) remove(id int64) (found bool) {
	for i, one := range g.invitations {
		if one.ID == id {
			g.invitations = append(g.invitations[:i:i], g.invitations[i+1:]...)
			return true
		}
	}
	return false
}

func (g *GitHub) expired(one *GitHubInvitation) bool {
	return !one.CreatedAt.Add(7 * 24 * time.Hour).After(g.now())
}

// invite is what PUT does: 404 without such a user, 204 with access, else 201.
func (g *GitHub) invite(user string) (status int, body string) {
	switch one := g.invitationOf(user); {
	case g.unknown[lower(user)]:
		return http.StatusNotFound, `{"message":"Not Found","documentation_url":"https://docs.github.com/rest"}`
	case g.collaborators[lower(user)]:
		return http.StatusNoContent, ""
	case one != nil:
		g.repeated[lower(user)]++
		return http.StatusCreated, g.render(one)
	}
	g.nextID++
	one := &GitHubInvitation{ID: g.nextID, Login: user, CreatedAt: g.now().UTC().Truncate(time.Second)}
	g.invitations = append(g.invitations, one)
	g.sent[lower(user)]++
	return http.StatusCreated, g.render(one)
}

func (g *GitHub) render(one *GitHubInvitation) string {
	return fmt.Sprintf(`{"id":%d,"repository":{"full_name":%q},"invitee":{"login":%q},"permissions":"read","created_at":%q,"expired":%t}`,
		one.ID, GitHubRepository, one.Login, one.CreatedAt.Format(time.RFC3339), g.expired(one))
}

// list is one page of the pending invitations, expired ones included.
func (g *GitHub) list(r *http.Request) (body, link string) {
	page, size := number(r, "page", 1), min(number(r, "per_page", 30), 100)
	var texts []string
	for i, one := range g.invitations {
		if i/size == page-1 {
			texts = append(texts, g.render(one))
		}
	}
	if len(g.invitations) > page*size {
		link = fmt.Sprintf(`<%s%s?page=%d&per_page=%d>; rel="next"`, g.URL, r.URL.Path, page+1, size)
	}
	return "[" + strings.Join(texts, ",") + "]", link
}

func number(r *http.Request, name string, otherwise int) int {
	if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
		return n
	}
	return otherwise
}
