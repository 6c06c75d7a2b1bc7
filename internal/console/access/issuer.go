package access

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// issuer is an OpenID Connect issuer, at which the console is a client.
type issuer struct {
	OIDC
	callback string
	client   *http.Client
	now      func() time.Time

	mu      sync.Mutex
	known   *endpoints // nil until the issuer has told them
	failure error
	failed  time.Time // the end of the attempt, so that logins that waited for it do not ask again
}

// endpoints are what an issuer says of itself.
type endpoints struct {
	*oauth2.Config
	provider *oidc.Provider
}

const (
	issuerTimeout     = 5 * time.Second // of all requests to the issuer for one login
	discoveryInterval = time.Second     // between two requests to an issuer that does not answer
	maxIssuerConns    = 8               // so that strangers cannot flood the issuer through the console
)

func newIssuer(config Config, now func() time.Time) *issuer {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxConnsPerHost = maxIssuerConns
	return &issuer{
		OIDC:     config.OIDC,
		callback: strings.TrimSuffix(config.PublicURL, "/") + callbackPath,
		client:   &http.Client{Transport: transport, Timeout: issuerTimeout},
		now:      now,
	}
}

// name is the issuer's host.
func (i *issuer) name() string {
	u, _ := url.Parse(i.Issuer)
	return u.Host
}

var errIssuerAway = errors.New("the issuer does not answer")

// discover returns the issuer's endpoints. It asks for them if they are not known yet. Its request
// does not end with ctx: somebody who hangs up must not make the others wait.
func (i *issuer) discover(ctx context.Context) (*endpoints, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.known != nil || i.failure != nil && i.now().Sub(i.failed) < discoveryInterval {
		return i.known, i.failure
	}
	provider, err := oidc.NewProvider(oidc.ClientContext(context.WithoutCancel(ctx), i.client), i.Issuer)
	if err != nil {
		i.failed, i.failure = i.now(), fmt.Errorf("%w: %w", errIssuerAway, err)
		return nil, i.failure
	}
	i.failure = nil
	endpoint := provider.Endpoint()
	endpoint.AuthStyle = i.authStyle(provider)
	i.known = &endpoints{&oauth2.Config{
		ClientID: i.ClientID, ClientSecret: i.ClientSecret, Endpoint: endpoint, RedirectURL: i.callback,
		Scopes: []string{oidc.ScopeOpenID, oidc.ScopeEmail},
	}, provider}
	return i.known, nil
}

// authStyle is how the console proves to the issuer who it is. By default oauth2 tries one way and then the other, and
// the first try can spend the code.
func (i *issuer) authStyle(provider *oidc.Provider) oauth2.AuthStyle {
	var said struct {
		Methods []string `json:"token_endpoint_auth_methods_supported"`
	}
	_ = provider.Claims(&said) // without the list, OpenID Connect Discovery names client_secret_basic
	const basic, post = "client_secret_basic", "client_secret_post"
	if i.ClientSecret == "" || slices.Contains(said.Methods, post) && !slices.Contains(said.Methods, basic) {
		return oauth2.AuthStyleInParams
	}
	return oauth2.AuthStyleInHeader
}

// loginURL is where the browser goes to log in.
func (i *issuer) loginURL(ctx context.Context, l login) (string, error) {
	known, err := i.discover(ctx)
	if err != nil {
		return "", err
	}
	return known.AuthCodeURL(l.state, oidc.Nonce(l.nonce), oauth2.S256ChallengeOption(l.verifier)), nil
}

var (
	errNotAllowed = errors.New("not in CONSOLE_OIDC_ALLOWED")
	errNonce      = errors.New("the ID token belongs to another login")
	errParty      = errors.New("the ID token was issued to another client")
	errNobody     = errors.New("the ID token names nobody")
	errUserInfo   = errors.New("the issuer's user info cannot be read, or is somebody else's")
)

// identify returns who logged in, and until when the issuer vouches for it.
func (i *issuer) identify(ctx context.Context, code string, l login) (viewer string, ends time.Time, err error) {
	known, err := i.discover(ctx)
	if err != nil {
		return "", time.Time{}, err
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, i.client), issuerTimeout)
	defer cancel()
	token, err := known.Exchange(ctx, code, oauth2.VerifierOption(l.verifier))
	if err != nil {
		return "", time.Time{}, exchangeError(err)
	}
	raw, _ := token.Extra("id_token").(string)
	identity, err := known.provider.Verifier(&oidc.Config{ClientID: i.ClientID, Now: i.now}).Verify(ctx, raw)
	if err != nil {
		return "", time.Time{}, err
	}
	if subtle.ConstantTimeCompare([]byte(identity.Nonce), []byte(l.nonce)) != 1 {
		return "", time.Time{}, errNonce
	}
	viewer, err = i.viewer(ctx, known, identity, token)
	return viewer, identity.Expiry, err
}

// exchangeError keeps only the status and the error code of the issuer's answer.
func exchangeError(err error) error {
	var refused *oauth2.RetrieveError
	if errors.As(err, &refused) {
		return fmt.Errorf("the issuer refused the code with %d: %q", refused.Response.StatusCode, refused.ErrorCode)
	}
	return fmt.Errorf("%w: %w", errIssuerAway, err)
}

// viewer returns the user whom a verified ID token names, if this user may look.
func (i *issuer) viewer(ctx context.Context, known *endpoints, identity *oidc.IDToken, token *oauth2.Token) (string, error) {
	var claims struct {
		Email           string `json:"email"`
		EmailVerified   any    `json:"email_verified"` // some issuers send a string
		AuthorizedParty string `json:"azp"`
	}
	if err := identity.Claims(&claims); err != nil {
		return "", fmt.Errorf("read the ID token: %w", err)
	}
	if claims.AuthorizedParty != "" && claims.AuthorizedParty != i.ClientID {
		return "", errParty
	}
	email := verified(claims.Email, claims.EmailVerified)
	if claims.Email == "" && known.provider.UserInfoEndpoint() != "" { // some issuers give the address only there
		info, err := known.provider.UserInfo(ctx, oauth2.StaticTokenSource(token))
		if err != nil || info.Subject != identity.Subject {
			return "", errUserInfo // the library's error contains the answer
		}
		email = verified(info.Email, info.EmailVerified)
	}
	switch {
	case !i.allows(email):
		return "", fmt.Errorf("%q, subject %q: %w", email, identity.Subject, errNotAllowed)
	case email != "":
		return email, nil
	case isName(identity.Subject):
		return identity.Subject, nil
	}
	return "", errNobody
}

// verified returns an e-mail address if the issuer has verified it, else nothing.
func verified(email string, isVerified any) string {
	if isVerified != true && isVerified != "true" || !isName(email) {
		return ""
	}
	return email
}

// allows reports whether somebody with this verified e-mail address may look. No list allows an
// address with letters beyond ASCII: strings.EqualFold takes some of them for letters of ASCII.
func (i *issuer) allows(email string) bool {
	if len(i.Allowed) == 0 {
		return true
	}
	at := strings.LastIndexByte(email, '@')
	if at < 1 || strings.ContainsFunc(email, func(r rune) bool { return r > unicode.MaxASCII }) {
		return false
	}
	return slices.ContainsFunc(i.Allowed, func(entry string) bool {
		return strings.EqualFold(entry, email) || strings.EqualFold(entry, email[at:])
	})
}
