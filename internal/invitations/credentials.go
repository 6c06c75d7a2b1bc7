package invitations

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
)

// Credentials are a token, or those of a GitHub App's installation. However
// they are printed, they read [redacted].
//
// What is secret is behind a function: fmt prints pointers to structs in full
// where a verb does not fit them.
type Credentials struct{ reveal func() secret }

type secret struct {
	token             string
	app, installation int64
	key               []byte
}

// Token returns the credentials of a personal access token.
func Token(text string) Credentials {
	return Credentials{func() secret { return secret{token: text} }}
}

// App returns the credentials of an App's installation; key is the App's
// private key, PEM. The error does not repeat it.
func App(id, installation int64, key []byte) (Credentials, error) {
	if _, err := ghinstallation.NewAppsTransport(http.DefaultTransport, id, key); err != nil {
		return Credentials{}, fmt.Errorf("not a private key of an App: %w", err)
	}
	return Credentials{func() secret { return secret{app: id, installation: installation, key: key} }}, nil
}

// Set says whether there are any.
func (c Credentials) Set() bool { return c.reveal != nil }

const redacted = "[redacted]"

// Format implements fmt.Formatter, for every verb.
func (Credentials) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// String implements fmt.Stringer, for whoever calls it.
func (Credentials) String() string { return redacted }

func (Credentials) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Credentials) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// NewGitHub returns a repository (owner/name) at the API of that address. With
// an empty permission GitHub's own default is asked for, the only one that a
// repository of a personal account has.
func NewGitHub(api *url.URL, credentials Credentials, repository, permission string, now func() time.Time) *GitHub {
	owner, name, _ := strings.Cut(repository, "/")
	base := *api
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	return &GitHub{
		base: &base, owner: owner, name: name, permission: permission, now: now,
		http: &http.Client{
			Transport:     credentials.transport(&base),
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

func (c Credentials) transport(base *url.URL) http.RoundTripper {
	plain := bounded{http.DefaultTransport.(*http.Transport).Clone()}
	secret := c.reveal()
	if secret.key == nil {
		return bearer{token: &secret.token, next: plain}
	}
	apps, err := ghinstallation.NewAppsTransport(plain, secret.app, secret.key)
	if err != nil {
		panic(err) // App has read the key already
	}
	apps.BaseURL = strings.TrimSuffix(base.String(), "/")
	return ghinstallation.NewFromAppsTransport(apps, secret.installation)
}

// mostOfAnAnswer is a hundred invitations, of some kilobytes each, and more.
const mostOfAnAnswer = 4 << 20

// bounded ends answers that do not.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, mostOfAnAnswer), response.Body}
	}
	return response, err
}

// bearer adds a token to each request.
type bearer struct {
	token *string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+*b.token)
	return b.next.RoundTrip(request)
}
