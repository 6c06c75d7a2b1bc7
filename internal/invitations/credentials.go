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

// Credentials are a token, or the credentials of a GitHub App's installation. They always print
// as [redacted].
//
// A function holds the secret, because fmt prints all fields of a pointer to a struct
// if a verb does not fit.
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

// App returns the credentials of an App's installation. The key is the App's private key
// as PEM. The error does not contain it.
func App(id, installation int64, key []byte) (Credentials, error) {
	if _, err := ghinstallation.NewAppsTransport(http.DefaultTransport, id, key); err != nil {
		return Credentials{}, fmt.Errorf("not a private key of an App: %w", err)
	}
	return Credentials{func() secret { return secret{app: id, installation: installation, key: key} }}, nil
}

// Set says whether there are credentials; the zero value has none.
func (c Credentials) Set() bool { return c.reveal != nil }

const redacted = "[redacted]"

// Format implements fmt.Formatter for every verb.
func (Credentials) Format(state fmt.State, _ rune) { _, _ = io.WriteString(state, redacted) }

// String implements fmt.Stringer.
func (Credentials) String() string { return redacted }

func (Credentials) LogValue() slog.Value         { return slog.StringValue(redacted) }
func (Credentials) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// NewGitHub returns a client of one repository (owner/name) at this API. An empty
// permission means GitHub's default, the only one that a repository of a personal account
// has.
func NewGitHub(api *url.URL, credentials Credentials, repository, permission string, now func() time.Time) *GitHub {
	owner, name, _ := strings.Cut(repository, "/")
	base := *api
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	return &GitHub{
		base: &base, owner: owner, name: name, permission: permission, now: now, credentials: credentials,
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
		return plain // GitHub.client adds the token
	}
	apps, err := ghinstallation.NewAppsTransport(plain, secret.app, secret.key)
	if err != nil {
		panic(err) // impossible: App has parsed the key
	}
	apps.BaseURL = strings.TrimSuffix(base.String(), "/")
	return ghinstallation.NewFromAppsTransport(apps, secret.installation)
}

// A page has at most a hundred invitations, of some kilobytes each.
const maxAnswerBytes = 4 << 20

// bounded reads at most maxAnswerBytes of an answer.
type bounded struct{ next http.RoundTripper }

func (b bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(request)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, maxAnswerBytes), response.Body}
	}
	return response, err
}
