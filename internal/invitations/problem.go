package invitations

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"
)

// kind classifies failed requests.
type kind int

const (
	unclear   kind = iota // nobody knows whether GitHub acted: 5xx, 408, timeout, lost connection
	permanent             // this request fails whenever it is repeated: 404, 422
	limited               // too many requests; GitHub did not act
	denied                // wrong credentials or repository: every request fails; GitHub did not act
)

func (k kind) String() string { return [...]string{"unclear", "permanent", "limited", "denied"}[k] }

// problem is the error of a failed request.
type problem struct {
	kind    kind
	message string    // from GitHub or the network; never a secret
	until   time.Time // do not retry before this time; zero if GitHub names none
}

func (p *problem) Error() string { return p.message }

// asProblem takes any other error for an unclear problem.
func asProblem(err error) *problem {
	if failure, is := errors.AsType[*problem](err); is {
		return failure
	}
	return &problem{kind: unclear, message: err.Error()}
}

// asDenied turns a permanent failure into a denial. It is for requests that do not depend on the user: if
// one of them fails permanently, the credentials or the repository are wrong.
func asDenied(err error) *problem {
	failure := asProblem(err)
	if failure.kind == permanent {
		return &problem{kind: denied, message: failure.message + "; is the repository right, and do the credentials reach it?"}
	}
	return failure
}

// problemOf classifies a failed request by status and headers. The error types of go-github
// do not suffice: there is none for 429, and they show a secondary limit only by a link.
func problemOf(response *github.Response, err error, now time.Time) *problem {
	var token *ghinstallation.HTTPError
	if errors.As(err, &token) && token.Response != nil {
		return tokenProblem(token.Response, now)
	}
	if response == nil || response.Response == nil {
		return &problem{kind: unclear, message: storable(withoutAddress(err))}
	}
	status, header, message := response.StatusCode, response.Header, messageOf(response.StatusCode, err)
	switch {
	case status == http.StatusTooManyRequests,
		(status == http.StatusForbidden || status == http.StatusUnprocessableEntity) && isLimit(header, err):
		return &problem{kind: limited, message: message, until: retryTime(header, now)}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &problem{kind: denied, message: message}
	case status >= 300 && status < 400:
		// No redirect is followed: the credentials are for one host, and a PUT may become a GET.
		return &problem{kind: denied, message: message + " to " + storable(header.Get("Location")) + "; was the repository renamed?"}
	case status >= 400 && status < 500 && status != http.StatusRequestTimeout:
		return &problem{kind: permanent, message: message}
	default:
		return &problem{kind: unclear, message: message, until: retryTime(header, now)}
	}
}

// withoutAddress is the text of an error without the address of the request, which has the name of a GitHub user.
func withoutAddress(err error) string {
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return strings.ToUpper(failed.Op) + ": " + failed.Err.Error()
	}
	return err.Error()
}

// tokenProblem classifies a request that was never sent, because GitHub gave no installation
// token to the App. Every refusal means that the credentials are wrong.
func tokenProblem(response *http.Response, now time.Time) *problem {
	defer response.Body.Close()
	message := fmt.Sprintf("%d for the App's installation token", response.StatusCode)
	switch {
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusForbidden && isLimit(response.Header, nil):
		return &problem{kind: limited, message: message, until: retryTime(response.Header, now)}
	case response.StatusCode >= 500:
		return &problem{kind: unclear, message: message}
	default:
		return &problem{kind: denied, message: message}
	}
}

// isLimit says whether a 403 or 422 is a rate limit. GitHub documents three signs: no requests remaining, Retry-After,
// and a message that names a secondary limit. It also documents 422 for too many requests that notify people, and does
// not say how it answers beyond the invitations of a day.
func isLimit(header http.Header, err error) bool {
	var secondary *github.AbuseRateLimitError
	return header.Get("X-RateLimit-Remaining") == "0" || header.Get("Retry-After") != "" || errors.As(err, &secondary) ||
		strings.Contains(strings.ToLower(messageOf(0, err)), "rate limit")
}

// maxRetryAfter bounds the time that GitHub, or a proxy, tells us to wait. GitHub's own
// limits are for an hour or a day.
const maxRetryAfter = 24 * time.Hour

// retryTime is when GitHub allows the next request; zero if it names no time.
func retryTime(header http.Header, now time.Time) time.Time {
	until := parseRetryAfter(header, now)
	if latest := now.Add(maxRetryAfter); until.After(latest) {
		return latest
	}
	return until
}

// parseRetryAfter prefers Retry-After. X-RateLimit-Reset counts only if no requests remain.
func parseRetryAfter(header http.Header, now time.Time) time.Time {
	if seconds, err := strconv.ParseInt(header.Get("Retry-After"), 10, 32); err == nil && seconds >= 0 {
		return now.Add(time.Duration(seconds) * time.Second)
	}
	if at, err := http.ParseTime(header.Get("Retry-After")); err == nil {
		return at.UTC()
	}
	if reset, err := strconv.ParseInt(header.Get("X-RateLimit-Reset"), 10, 64); err == nil && header.Get("X-RateLimit-Remaining") == "0" {
		return time.Unix(reset, 0).UTC()
	}
	return time.Time{}
}

// word matches every text that can be the name of a GitHub user.
var word = regexp.MustCompile(`[A-Za-z0-9_-]+`)

// ReplaceName replaces the name of a GitHub user in GitHub's words.
func ReplaceName(text, name string, by func(name string) string) string {
	return word.ReplaceAllStringFunc(text, func(found string) string {
		if strings.EqualFold(found, name) {
			return by(found)
		}
		return found
	})
}

// maxMessage is the maximum length of a stored message, in bytes.
const maxMessage = 300

// messageOf joins the status with GitHub's message and details.
func messageOf(status int, err error) string {
	words := []string{strconv.Itoa(status)}
	var answer *github.ErrorResponse
	var primary *github.RateLimitError
	var secondary *github.AbuseRateLimitError
	switch {
	case errors.As(err, &answer):
		words = append(words, cmp.Or(answer.Message, http.StatusText(status)))
		for _, detail := range answer.Errors {
			words = append(words, cmp.Or(detail.Message, strings.TrimSpace(detail.Field+" "+detail.Code)))
		}
	case errors.As(err, &primary):
		words = append(words, primary.Message)
	case errors.As(err, &secondary):
		words = append(words, secondary.Message)
	default:
		words = append(words, http.StatusText(status))
	}
	return storable(strings.Join(words, " "))
}

// storable shortens a text from outside and removes what a Postgres text cannot hold.
func storable(text string) string {
	if len(text) > maxMessage {
		text = text[:maxMessage]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
}
