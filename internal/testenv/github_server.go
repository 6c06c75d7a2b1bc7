package testenv

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// installationToken is the token of an App's installation.
const installationToken = "ghs_0123456789abcdef"

func (g *GitHub) serve(w http.ResponseWriter, r *http.Request) {
	request := GitHubRequest{Method: r.Method, Path: r.URL.Path}
	var body struct{ Permission string }
	if r.Method == http.MethodPut {
		_ = json.NewDecoder(r.Body).Decode(&body)
		request.Permission = body.Permission
	}
	user, invites := strings.CutPrefix(r.URL.Path, "/repos/"+GitHubRepository+"/collaborators/")
	invites = invites && r.Method == http.MethodPut
	var reply Reply
	var status int
	var text, link string
	g.locked(func() {
		g.requests = append(g.requests, request)
		reply = g.take("")
		if invites && reply.isEmpty() {
			reply = g.take(user)
		}
		if reply.Acts || reply.Status == 0 && !reply.Drops {
			status, text, link = g.answer(r, user)
		}
	})
	select {
	case g.arrived <- request:
	default: // no test awaits so many requests
	}
	if reply.Arrived != nil {
		close(reply.Arrived)
	}
	if reply.Holds != nil {
		select {
		case <-reply.Holds:
		case <-r.Context().Done():
		}
	}
	if reply.Drops {
		panic(http.ErrAbortHandler)
	}
	if reply.Status != 0 {
		status, text, link = reply.Status, reply.Body, ""
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	if link != "" {
		w.Header().Set("Link", link)
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(text))
}

func (r Reply) isEmpty() bool {
	return r.Status == 0 && !r.Drops && r.Holds == nil && r.Arrived == nil && r.Header == nil
}

// take removes and returns the next scripted reply.
func (g *GitHub) take(user string) Reply {
	waiting := g.scripts[lower(user)]
	if len(waiting) == 0 {
		return Reply{}
	}
	g.scripts[lower(user)] = waiting[1:]
	return waiting[0]
}

func (g *GitHub) answer(r *http.Request, user string) (status int, body, link string) {
	if strings.HasPrefix(r.URL.Path, "/app/installations/") {
		status, body = g.token(r)
		return status, body, ""
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if token != GitHubToken && (g.App.Key == nil || token != installationToken) {
		return http.StatusUnauthorized, `{"message":"Bad credentials","documentation_url":"https://docs.github.com/rest"}`, ""
	}
	path, inRepository := strings.CutPrefix(r.URL.Path, "/repos/"+GitHubRepository)
	id, isInvitation := strings.CutPrefix(path, "/invitations/")
	switch {
	case !inRepository:
	case r.Method == http.MethodGet && path == "/invitations":
		body, link = g.list(r)
		return http.StatusOK, body, link
	case r.Method == http.MethodDelete && isInvitation:
		if n, err := strconv.ParseInt(id, 10, 64); err == nil && g.remove(n) {
			return http.StatusNoContent, "", ""
		}
	case r.Method == http.MethodPut && user != "":
		status, body = g.invite(user)
		return status, body, ""
	case r.Method == http.MethodGet && g.collaborators[lower(user)]:
		return http.StatusNoContent, "", ""
	case r.Method == http.MethodDelete && user != "":
		delete(g.collaborators, lower(user))
		return http.StatusNoContent, "", ""
	}
	return http.StatusNotFound, `{"message":"Not Found","documentation_url":"https://docs.github.com/rest"}`, ""
}

// token answers a request for the installation's token, which must have a JWT signed by the
// App.
func (g *GitHub) token(r *http.Request) (status int, body string) {
	_, jwt, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if r.URL.Path != fmt.Sprintf("/app/installations/%d/access_tokens", g.App.Installation) || !g.signed(jwt) {
		return http.StatusUnauthorized, `{"message":"A JSON web token could not be decoded"}`
	}
	return http.StatusCreated, fmt.Sprintf(`{"token":%q,"expires_at":%q}`, installationToken, time.Now().Add(time.Hour).UTC().Format(time.RFC3339))
}

func (g *GitHub) signed(jwt string) bool {
	parts := strings.Split(jwt, ".")
	if g.App.Key == nil || len(parts) != 3 {
		return false
	}
	signature, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil {
		return false
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	return err == nil && strings.Contains(string(claims), fmt.Sprintf(`"iss":"%d"`, g.App.ID)) &&
		rsa.VerifyPKCS1v15(g.App.Key, crypto.SHA256, digest[:], signature) == nil
}
