package testenv

import (
	"crypto/rsa"
	"fmt"
	"net"
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

// The repository of the fake GitHub, and the token that reads and changes it.
const (
	GitHubRepository = "acme/tool"
	GitHubToken      = "github_pat_0123456789abcdef"
)

// GitHub is a fake of GitHub: an HTTP server with one repository. It keeps state and
// answers as GitHub documents it. Tests can script answers. Safe for concurrent use.
type GitHub struct {
	URL string
	App GitHubApp // its installation may be used instead of the token

	server        *httptest.Server
	now           func() time.Time
	mu            sync.Mutex
	nextID        int64
	invitations   []*GitHubInvitation
	collaborators map[string]bool
	unknown       map[string]bool // names without a user
	scripts       map[string][]Reply
	requests      []GitHubRequest
	sent          map[string]int
	repeated      map[string]int
	arrived       chan GitHubRequest
}

// GitHubInvitation is an invitation that was neither accepted nor declined.
type GitHubInvitation struct {
	ID        int64
	Login     string
	CreatedAt time.Time
}

// GitHubRequest is a request that arrived.
type GitHubRequest struct{ Method, Path, Permission string }

// GitHubApp is an App with one installation.
type GitHubApp struct {
	ID, Installation int64
	Key              *rsa.PublicKey
}

// Reply is a scripted answer to one request.
type Reply struct {
	Status  int // 0: the answer that GitHub would give
	Header  map[string]string
	Body    string
	Acts    bool          // GitHub also does what the request asks
	Drops   bool          // GitHub breaks the connection instead of answering
	Holds   chan struct{} // GitHub answers when this is closed or the client disconnects
	Arrived chan struct{} // GitHub closes it when the request has arrived, after acting on it
}

// NewGitHub starts a fake GitHub with this clock.
func NewGitHub(t testing.TB, now func() time.Time) *GitHub {
	t.Helper()
	return NewGitHubAt(t, "127.0.0.1:0", now)
}

// NewGitHubAt starts a fake GitHub that listens at an address.
func NewGitHubAt(t testing.TB, address string, now func() time.Time) *GitHub {
	t.Helper()
	listener, err := net.Listen("tcp", address)
	require.NoError(t, err)
	g := NewGitHubInMemory(now)
	g.arrived = make(chan GitHubRequest, 10_000)
	g.server = &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(g.serve)}}
	g.server.Config.SetKeepAlivesEnabled(false) // goleak would find idle connections
	g.server.Start()
	g.URL = g.server.URL
	t.Cleanup(g.server.Close)
	return g
}

// NewGitHubInMemory returns a fake GitHub without a server. RoundTrip asks it.
func NewGitHubInMemory(now func() time.Time) *GitHub {
	return &GitHub{
		URL: "http://github.test",
		now: now, collaborators: map[string]bool{}, unknown: map[string]bool{}, scripts: map[string][]Reply{},
		sent: map[string]int{}, repeated: map[string]int{},
	}
}

// RoundTrip implements http.RoundTripper without a network.
func (g *GitHub) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	g.serve(answer, r)
	response := answer.Result()
	response.Request = r
	return response, nil
}

// Script sets the answers to the next requests that invite the user; for user "" to the
// next requests of any kind.
func (g *GitHub) Script(user string, replies ...Reply) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scripts[lower(user)] = append(g.scripts[lower(user)], replies...)
}

// ClearScripts removes all scripted answers.
func (g *GitHub) ClearScripts() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.scripts = map[string][]Reply{}
}

// RemoveUser removes the user from GitHub.
func (g *GitHub) RemoveUser(user string) { g.locked(func() { g.unknown[lower(user)] = true }) }

// AddUser adds a user that RemoveUser removed.
func (g *GitHub) AddUser(user string) { g.locked(func() { delete(g.unknown, lower(user)) }) }

// Rename renames a user's account. GitHub lists invitations and access under the new name, and the old name is free.
func (g *GitHub) Rename(from, to string) {
	g.locked(func() {
		if one := g.invitationOf(from); one != nil {
			one.Login = to
		}
		if g.collaborators[lower(from)] {
			delete(g.collaborators, lower(from))
			g.collaborators[lower(to)] = true
		}
		g.unknown[lower(from)] = true
		delete(g.unknown, lower(to))
	})
}

// AddCollaborator gives a user access without an invitation.
func (g *GitHub) AddCollaborator(user string) {
	g.locked(func() { g.collaborators[lower(user)] = true })
}

// InviteByHand invites a user as a person with access does.
func (g *GitHub) InviteByHand(user string) { g.locked(func() { g.invite(user) }) }

// Accept accepts the user's invitation, which must exist.
func (g *GitHub) Accept(t require.TestingT, user string) {
	g.Decline(t, user)
	g.AddCollaborator(user)
}

// Decline declines the user's invitation, which must exist.
func (g *GitHub) Decline(t require.TestingT, user string) {
	g.locked(func() {
		one := g.invitationOf(user)
		require.NotNil(t, one, "%s has no invitation", user)
		g.remove(one.ID)
	})
}

// Invitation returns the user's invitation, also an expired one; nil: none.
func (g *GitHub) Invitation(user string) (found *GitHubInvitation) {
	g.locked(func() { found = g.invitationOf(user) })
	return found
}

// HasAccess says whether the user is a collaborator.
func (g *GitHub) HasAccess(user string) (is bool) {
	g.locked(func() { is = g.collaborators[lower(user)] })
	return is
}

// Sent returns how many invitations GitHub made for the user.
func (g *GitHub) Sent(user string) (n int) {
	g.locked(func() { n = g.sent[lower(user)] })
	return n
}

// Repeated returns how many requests invited the user while an invitation was pending.
func (g *GitHub) Repeated(user string) (n int) {
	g.locked(func() { n = g.repeated[lower(user)] })
	return n
}

// Requests lists the requests with this method that arrived; method "" lists all.
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

// AwaitInvite waits for the next request that invites.
func (g *GitHub) AwaitInvite(t testing.TB) {
	t.Helper()
	deadline := time.After(wait.Timeout)
	for {
		select {
		case one := <-g.arrived:
			if one.Method == http.MethodPut {
				return
			}
		case <-deadline:
			require.Fail(t, "no request invited")
		}
	}
}

// Address is the parsed URL.
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

// invite answers PUT: 404 for an unknown user, 204 for one with access, else 201.
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

// list returns a page of the invitations, with expired ones.
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
