package access

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"
)

// sessionTime is a day's work. After it people log in again.
const sessionTime = 8 * time.Hour

// The purposes of cookies. They are part of what is signed.
const (
	sessionCookie = "payfold-console"
	loginCookie   = "payfold-login"
)

// session is what a session's cookie says.
type session struct {
	id, viewer string
	ends       time.Time
}

// session returns the session of a browser, if it has one that counts.
func (g *Guard) session(r *http.Request) (s session, ok bool) {
	text, ends, ok := g.cookie(r, sessionCookie)
	s.ends = ends
	s.id, s.viewer, _ = strings.Cut(text, " ")
	return s, ok && !g.spent.has(s.id)
}

// spent has the states of logins that succeeded, so that none counts twice, and the ids of sessions that were logged
// out. It forgets each when its cookie has ended. Its zero value is ready.
type spent struct {
	mu   sync.Mutex
	ends map[string]time.Time // by state or id
}

// add reports whether the state or id was not spent before.
func (s *spent) add(one string, ends, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ends == nil {
		s.ends = map[string]time.Time{}
	}
	maps.DeleteFunc(s.ends, func(_ string, ends time.Time) bool { return !now.Before(ends) })
	_, before := s.ends[one]
	s.ends[one] = ends
	return !before
}

func (s *spent) has(one string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, spent := s.ends[one]
	return spent
}

// seals signs short texts with a key that only this process has. So no seal outlives it.
type seals struct{ key []byte }

func newSeals() seals {
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails
	return seals{key}
}

// sum depends on the key, the purpose and the text.
func (s seals) sum(purpose, text string) []byte {
	mac := hmac.New(sha256.New, s.key)
	mac.Write([]byte(purpose + "\x00" + text))
	return mac.Sum(nil)
}

// equal compares two secrets. Its time does not show how many of their characters agree.
func (s seals) equal(a, b string) bool { return hmac.Equal(s.sum("", a), s.sum("", b)) }

// derived is a text that nobody can compute without the key: 43 characters of base64.
func (s seals) derived(purpose, text string) string {
	return base64.RawURLEncoding.EncodeToString(s.sum(purpose, text))
}

const expiryBytes = 8

// seal returns text, signed for a purpose and until a time.
func (s seals) seal(purpose, text string, ends time.Time) string {
	body := string(binary.BigEndian.AppendUint64(nil, uint64(ends.Unix()))) + text
	return base64.RawURLEncoding.EncodeToString(append(s.sum(purpose, body), body...))
}

// open returns what was sealed for that purpose, and until when it counts. It is not ok if it was
// not sealed here or has ended.
func (s seals) open(purpose, sealed string, now time.Time) (text string, ends time.Time, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil || len(raw) < sha256.Size+expiryBytes {
		return "", time.Time{}, false
	}
	sum, body := raw[:sha256.Size], string(raw[sha256.Size:])
	if !hmac.Equal(sum, s.sum(purpose, body)) {
		return "", time.Time{}, false
	}
	ends = time.Unix(int64(binary.BigEndian.Uint64([]byte(body[:expiryBytes]))), 0)
	return body[expiryBytes:], ends, now.Before(ends)
}

// setCookie sets a sealed cookie. The browser forgets the cookie when the browser is closed.
func (g *Guard) setCookie(w http.ResponseWriter, r *http.Request, purpose, text string, ends time.Time, sameSite http.SameSite) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(r, purpose), Value: g.seals.seal(purpose, text, ends),
		Path: "/", HttpOnly: true, Secure: g.isTLS(r), SameSite: sameSite,
	})
}

func (g *Guard) deleteCookie(w http.ResponseWriter, r *http.Request, purpose string, sameSite http.SameSite) {
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(r, purpose), Path: "/", MaxAge: -1, HttpOnly: true, Secure: g.isTLS(r), SameSite: sameSite,
	})
}

// cookie returns the text of a cookie, and until when it counts.
func (g *Guard) cookie(r *http.Request, purpose string) (text string, ends time.Time, ok bool) {
	for _, c := range r.CookiesNamed(g.cookieName(r, purpose)) {
		if text, ends, ok = g.seals.open(purpose, c.Value, g.now()); ok {
			return text, ends, true
		}
	}
	return "", time.Time{}, false
}

// cookieName returns the name of a cookie. The prefix __Host- makes the browser refuse a cookie from a
// neighbouring domain or without TLS. Without TLS the port is part of the name, because the ports of
// one host share cookies: two consoles on one machine would log each other out.
func (g *Guard) cookieName(r *http.Request, purpose string) string {
	if g.isTLS(r) {
		return "__Host-" + purpose
	}
	asked, _ := parseHost(r.Host) // Protect has checked it
	return purpose + "-" + asked.port
}

// isTLS reports whether the browser asks over TLS: here, or at the proxy behind the public URL.
func (g *Guard) isTLS(r *http.Request) bool {
	asked, _ := parseHost(r.Host)
	return r.TLS != nil || g.public != nil && g.public.Scheme == "https" && asked.name == g.public.Hostname()
}
