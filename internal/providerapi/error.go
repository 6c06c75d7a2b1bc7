package providerapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// Error is a request that got no usable answer. Its text has no part of the key.
type Error struct {
	Provider string
	Request  string // method and path
	Status   int    // 0 if there was no answer

	said       string // by the API
	cause      error
	permanent  bool // asking again does not help
	retryAfter time.Duration
}

// Error says what was asked, what was answered, and what to do.
func (e *Error) Error() string {
	text := e.Provider + ": " + e.Request
	if e.Status != 0 && e.Status/100 != 2 {
		text += fmt.Sprintf(" is answered %d", e.Status)
	}
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	if e.said != "" {
		text += ": " + e.said
	}
	if advice := e.advice(); advice != "" {
		text += "; " + advice
	}
	return text
}

func (e *Error) advice() string {
	variable := strings.ToUpper(e.Provider) + "_API_KEY"
	switch {
	case e.Status == http.StatusUnauthorized:
		return variable + " is wrong, revoked, or of another mode or address: make a new key in the dashboard"
	case e.Status == http.StatusForbidden:
		_, path, _ := strings.Cut(e.Request, " ")
		lacks := " may not read this"
		if right := rightOf(e.Provider, path); right != "" {
			lacks = " lacks the right " + right
		}
		return "the key of " + variable + lacks + ": docs/providers.md says which rights it needs"
	case e.Status/100 == 3:
		return "redirects are not followed, because the key would be sent on: set " + strings.ToUpper(e.Provider) + "_API_URL"
	case e.retryAfter > maxRetryAfter:
		return fmt.Sprintf("it asks to wait %s", e.retryAfter.Round(time.Second))
	}
	return ""
}

func (e *Error) Unwrap() error { return e.cause }

// temporary reports whether asking again can help.
func (e *Error) temporary() bool {
	return !e.permanent && (e.Status/100 == 2 || e.Status/100 == 5 || e.Status == 0 || e.Status == http.StatusTooManyRequests)
}

// KeyRefused reports whether the API refuses the key, or the key may not read what was asked for.
func KeyRefused(err error) bool {
	var e *Error
	return errors.As(err, &e) && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden)
}

// RetryAfter is how long the API asked to wait before the next request; 0 if it asked for nothing.
func RetryAfter(err error) time.Duration {
	var e *Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.retryAfter
}

// Refused reports whether the API refuses the request itself: it answers a status 4xx that is not about a wait.
func Refused(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status/100 == 4 && e.Status != http.StatusTooManyRequests
}
