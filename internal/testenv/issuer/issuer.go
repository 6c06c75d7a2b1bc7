// Package issuer is an OpenID Connect issuer for tests. It logs in everybody who asks, and says what
// a test tells it to.
package issuer

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What the issuer knows of its only client.
const (
	ClientID     = "payfold-console"
	ClientSecret = "client-secret-0123456789"
)

// Issuer is an issuer. A test may change its exported fields before it is asked.
type Issuer struct {
	URL     string
	Console string // the address of its client
	Key     *rsa.PrivateKey
	Clock   func() time.Time

	Away      bool
	Meanwhile func()                             // called before it returns its endpoints
	Asked     int                                // number of requests for its endpoints
	Claims    map[string]any                     // instead of the usual ones
	Sign      func(claims map[string]any) string // makes the ID token; RS256
	Refusal   string                             // an error that it returns instead of a code
	Info      map[string]any                     // nil: no user info
	Method    string                             // how its client proves who it is; client_secret_basic

	t     *testing.T
	ec    *ecdsa.PrivateKey
	mu    sync.Mutex
	codes map[string]url.Values // the query of each login, by its code
}

// rsaKey takes long to make, so all issuers have the same.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// New returns an issuer for the console at an address.
func New(t *testing.T, console string) *Issuer {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &Issuer{t: t, Console: console, Key: rsaKey(), Clock: time.Now, ec: ec, codes: map[string]url.Values{}, Meanwhile: func() {}}
	i.Sign = func(claims map[string]any) string { return i.RS256(i.Key, claims) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", i.userInfo)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.Asked++
	i.Meanwhile()
	if i.Away {
		http.Error(w, "down for repair", http.StatusBadGateway)
		return
	}
	said := map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys",
		"authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"},
	}
	if i.Method != "" {
		said["token_endpoint_auth_methods_supported"] = []string{i.Method}
	}
	if i.Info != nil {
		said["userinfo_endpoint"] = i.URL + "/userinfo"
	}
	i.write(w, said)
}

func (i *Issuer) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer access" {
		http.Error(w, "a wrong access token", http.StatusUnauthorized)
		return
	}
	i.write(w, i.Info)
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := i.ec.PublicKey.Bytes()
	require.NoError(i.t, err)
	i.write(w, map[string]any{"keys": []any{
		map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rsa", "n": encoded(i.Key.N.Bytes()), "e": encoded(big.NewInt(int64(i.Key.E)).Bytes())},
		map[string]any{"kty": "EC", "use": "sig", "alg": "ES256", "kid": "ec", "crv": "P-256", "x": encoded(point[1:33]), "y": encoded(point[33:])},
	}})
}

// authorize logs in everybody who asks, and sends the browser back.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	ok := query.Get("client_id") == ClientID && query.Get("redirect_uri") == i.Console+"/login/callback" && query.Get("response_type") == "code" &&
		query.Get("scope") == "openid email" && query.Get("code_challenge_method") == "S256" && query.Get("nonce") != "" && query.Get("state") != ""
	if !ok {
		http.Error(w, "a wrong request", http.StatusBadRequest)
		return
	}
	code := rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.codes[code] = query
	back := url.Values{"code": {code}, "state": {query.Get("state")}}
	if i.Refusal != "" {
		back = url.Values{"error": {i.Refusal}, "state": {query.Get("state")}}
	}
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token accepts the right code any number of times, so that the console has to notice a repetition. A wrong request
// spends the code.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	login, known := i.codes[r.FormValue("code")]
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	if !known || encoded(challenge[:]) != login.Get("code_challenge") || !i.isClient(r) {
		delete(i.codes, r.FormValue("code"))
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		i.write(w, map[string]any{"error": "invalid_grant", "error_description": "the code of somebody"})
		return
	}
	now := i.Clock()
	claims := map[string]any{
		"iss": i.URL, "aud": ClientID, "sub": "subject-1", "nonce": login.Get("nonce"), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": "Anna@example.com", "email_verified": true,
	}
	maps.Copy(claims, i.Claims)
	i.write(w, map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": i.Sign(claims)})
}

// isClient reports whether the request proves in the way of Method that the client sent it.
func (i *Issuer) isClient(r *http.Request) bool {
	id, secret, basic := r.BasicAuth()
	if i.Method == "" {
		return id == ClientID && secret == ClientSecret
	}
	secret = map[string]string{"client_secret_post": ClientSecret, "none": ""}[i.Method]
	return !basic && r.FormValue("client_id") == ClientID && r.FormValue("client_secret") == secret
}

func (i *Issuer) write(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	require.NoError(i.t, json.NewEncoder(w).Encode(value))
}

func encoded(p []byte) string { return base64.RawURLEncoding.EncodeToString(p) }

// Unsigned returns the part of a token that is signed.
func (i *Issuer) Unsigned(algorithm, key string, claims map[string]any) string {
	header, err := json.Marshal(map[string]string{"alg": algorithm, "kid": key})
	require.NoError(i.t, err)
	payload, err := json.Marshal(claims)
	require.NoError(i.t, err)
	return encoded(header) + "." + encoded(payload)
}

// RS256 returns an ID token that is signed with an RSA key.
func (i *Issuer) RS256(key *rsa.PrivateKey, claims map[string]any) string {
	text := i.Unsigned("RS256", "rsa", claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	require.NoError(i.t, err)
	return text + "." + encoded(signature)
}

// ES256 returns an ID token that is signed with the issuer's elliptic curve.
func (i *Issuer) ES256(claims map[string]any) string {
	text := i.Unsigned("ES256", "ec", claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.ec, sum[:])
	require.NoError(i.t, err)
	return text + "." + encoded(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}
