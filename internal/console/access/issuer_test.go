package access_test

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

	"github.com/payfold/payfold/internal/console/access"
)

const (
	consoleHost  = "console.example.com"
	consoleURL   = "https://" + consoleHost
	clientID     = "payfold-console"
	clientSecret = "client-secret-0123456789"
)

// issuer is an OpenID Connect issuer. It signs with RS256, or what sign does instead.
type issuer struct {
	t      *testing.T
	server *httptest.Server
	key    *rsa.PrivateKey
	ec     *ecdsa.PrivateKey
	clock  func() time.Time

	mu        sync.Mutex
	away      bool
	meanwhile func()                // before it tells its endpoints
	asked     int                   // for its endpoints
	codes     map[string]url.Values // the query of each login, by its code
	claims    map[string]any        // instead of the usual ones
	sign      func(claims map[string]any) string
	refusal   string         // an error code instead of a code
	info      map[string]any // nil: no user info
}

// rsaKey takes long to make, so all issuers have the same.
var rsaKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	i := &issuer{t: t, key: rsaKey(), ec: ec, codes: map[string]url.Values{}, meanwhile: func() {}}
	i.sign = func(claims map[string]any) string { return i.rs256(i.key, claims) }
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /authorize", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	mux.HandleFunc("GET /userinfo", i.userInfo)
	i.server = httptest.NewServer(mux)
	t.Cleanup(i.server.Close)
	return i
}

// console is a console that knows its users from the issuer.
func (i *issuer) console(allowed []string) *world {
	i.t.Helper()
	w := setup(i.t, access.Config{
		PublicURL: consoleURL,
		OIDC:      access.OIDC{Issuer: i.server.URL, ClientID: clientID, ClientSecret: clientSecret, Allowed: allowed},
	})
	i.clock = w.clock.Now
	return w
}

func (i *issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	i.meanwhile()
	if i.away {
		http.Error(w, "down for repair", http.StatusBadGateway)
		return
	}
	said := map[string]any{
		"issuer": i.server.URL, "jwks_uri": i.server.URL + "/keys",
		"authorization_endpoint": i.server.URL + "/authorize", "token_endpoint": i.server.URL + "/token",
		"id_token_signing_alg_values_supported": []string{"RS256", "ES256", "HS256", "none"},
	}
	if i.info != nil {
		said["userinfo_endpoint"] = i.server.URL + "/userinfo"
	}
	i.write(w, said)
}

func (i *issuer) userInfo(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer access" {
		http.Error(w, "a wrong access token", http.StatusUnauthorized)
		return
	}
	i.write(w, i.info)
}

func (i *issuer) keys(w http.ResponseWriter, _ *http.Request) {
	point, err := i.ec.PublicKey.Bytes()
	require.NoError(i.t, err)
	i.write(w, map[string]any{"keys": []any{
		map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "rsa", "n": encoded(i.key.N.Bytes()), "e": encoded(big.NewInt(int64(i.key.E)).Bytes())},
		map[string]any{"kty": "EC", "use": "sig", "alg": "ES256", "kid": "ec", "crv": "P-256", "x": encoded(point[1:33]), "y": encoded(point[33:])},
	}})
}

// authorize logs in everybody who asks, and sends the browser back.
func (i *issuer) authorize(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	ok := query.Get("client_id") == clientID && query.Get("redirect_uri") == consoleURL+"/login/callback" && query.Get("response_type") == "code" &&
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
	if i.refusal != "" {
		back = url.Values{"error": {i.refusal}, "state": {query.Get("state")}}
	}
	http.Redirect(w, r, query.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
}

// token takes a code as often as it is sent, so that the console has to notice.
func (i *issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	login, known := i.codes[r.FormValue("code")]
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	id, secret, _ := r.BasicAuth()
	if !known || encoded(challenge[:]) != login.Get("code_challenge") || id != clientID || secret != clientSecret {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		i.write(w, map[string]any{"error": "invalid_grant", "error_description": "the code of somebody"})
		return
	}
	now := i.clock()
	claims := map[string]any{
		"iss": i.server.URL, "aud": clientID, "sub": "subject-1", "nonce": login.Get("nonce"), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"email": "Anna@example.com", "email_verified": true,
	}
	maps.Copy(claims, i.claims)
	i.write(w, map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": i.sign(claims)})
}

func (i *issuer) write(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	require.NoError(i.t, json.NewEncoder(w).Encode(value))
}

func encoded(p []byte) string { return base64.RawURLEncoding.EncodeToString(p) }

// unsigned returns the part of a token that is signed.
func (i *issuer) unsigned(algorithm, key string, claims map[string]any) string {
	header, err := json.Marshal(map[string]string{"alg": algorithm, "kid": key})
	require.NoError(i.t, err)
	payload, err := json.Marshal(claims)
	require.NoError(i.t, err)
	return encoded(header) + "." + encoded(payload)
}

func (i *issuer) rs256(key *rsa.PrivateKey, claims map[string]any) string {
	text := i.unsigned("RS256", "rsa", claims)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	require.NoError(i.t, err)
	return text + "." + encoded(signature)
}

func (i *issuer) es256(claims map[string]any) string {
	text := i.unsigned("ES256", "ec", claims)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.ec, sum[:])
	require.NoError(i.t, err)
	return text + "." + encoded(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}
