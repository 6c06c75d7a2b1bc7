package invitations

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/bradleyfalzon/ghinstallation/v2"
	"github.com/google/go-github/v66/github"
)

// kind is what an answer that is not a success means.
type kind int

const (
	unclear kind = iota // no answer, or one that does not say what was done: 5xx, time-out, a lost connection
	refused             // this request is wrong and stays so: 404, 422
	limited             // too many requests: nothing was done
	denied              // these credentials, or this repository: nothing was done, and no other request would fare better
)

// problem is a call to GitHub that did not succeed.
type problem struct {
	kind  kind
	words string    // GitHub's, or the network's; never a secret
	until time.Time // not to be asked before; zero where GitHub did not say
}

func (p *problem) Error() string { return p.words }

// problemOf classifies by status and headers. The types of go-github are not
// enough: it has none for 429, and tells a secondary limit by its link alone.
func problemOf(response *github.Response, err error, now time.Time) *problem {
	var token *ghinstallation.HTTPError
	if errors.As(err, &token) && token.Response != nil {
		return tokenProblem(token.Response, now)
	}
	if response == nil || response.Response == nil {
		return &problem{kind: unclear, words: kept(err.Error())}
	}
	status, header, words := response.StatusCode, response.Header, wordsOf(response.StatusCode, err)
	switch {
	case status == http.StatusTooManyRequests || status == http.StatusForbidden && isLimit(header, err):
		return &problem{kind: limited, words: words, until: toldUntil(header, now)}
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return &problem{kind: denied, words: words}
	case status >= 300 && status < 400:
		// Redirects are not followed: the credentials are for one host, and a PUT may become a GET.
		return &problem{kind: denied, words: words + " to " + kept(header.Get("Location")) + "; was the repository renamed?"}
	case status >= 400 && status < 500:
		return &problem{kind: refused, words: words}
	default:
		return &problem{kind: unclear, words: words, until: toldUntil(header, now)}
	}
}

// tokenProblem: an App's installation token was not given out, so the request
// itself was never sent. Whatever the refusal, it is of the credentials.
func tokenProblem(response *http.Response, now time.Time) *problem {
	defer response.Body.Close()
	words := fmt.Sprintf("%d for the App's installation token", response.StatusCode)
	switch {
	case response.StatusCode == http.StatusTooManyRequests || response.StatusCode == http.StatusForbidden && isLimit(response.Header, nil):
		return &problem{kind: limited, words: words, until: toldUntil(response.Header, now)}
	case response.StatusCode >= 500:
		return &problem{kind: unclear, words: words}
	default:
		return &problem{kind: denied, words: words}
	}
}

// isLimit tells a 403 that asks to wait from one that refuses. GitHub documents
// three signs: no requests remaining, Retry-After, and a message that names a
// secondary limit.
func isLimit(header http.Header, err error) bool {
	var secondary *github.AbuseRateLimitError
	if header.Get("X-RateLimit-Remaining") == "0" || header.Get("Retry-After") != "" || errors.As(err, &secondary) {
		return true
	}
	var answer *github.ErrorResponse
	return errors.As(err, &answer) && strings.Contains(strings.ToLower(answer.Message), "secondary rate limit")
}

// maxTold bounds what GitHub, or something between, tells us to wait: its own
// limits are by the hour and by the day.
const maxTold = 24 * time.Hour

// toldUntil is when GitHub wants to be asked again; zero where it did not say.
func toldUntil(header http.Header, now time.Time) time.Time {
	until := readUntil(header, now)
	if latest := now.Add(maxTold); until.After(latest) {
		return latest
	}
	return until
}

// readUntil: Retry-After comes first; the reset counts only where nothing remains.
func readUntil(header http.Header, now time.Time) time.Time {
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

// maxWords bounds what of an answer is kept.
const maxWords = 300

// wordsOf is the status with GitHub's message and its details.
func wordsOf(status int, err error) string {
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
	return kept(strings.Join(words, " "))
}

// kept is what of a text from outside is recorded: short, and such that a table
// can hold it.
func kept(text string) string {
	if len(text) > maxWords {
		text = text[:maxWords]
	}
	return strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "")
}
