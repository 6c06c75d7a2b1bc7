// Package providerapi asks the APIs of the payment providers for what they have: their events, and lists of their
// objects. It reads, and changes nothing; Event.Acknowledge is the only exception.
//
//	client.go        one request: the key, the retries, the errors
//	waiting.go       what a person is told who waits for it
//	pages.go         one list: page after page
//	events.go        the events of a provider, and how long it keeps them
//	creem.go …       one API each: its address, its header, how its pages go on, where its events are
package providerapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/payfold/payfold/internal/backoff"
)

// Config says which API a client asks.
type Config struct {
	Provider  string // one of Names
	URL       string // the API's address; empty: the provider's own
	Key       Key
	WebhookID string        // of the endpoint whose pending events are asked for, for a provider that needs one
	RetryWait time.Duration // before the first retry; 0 means a second
}

// ListsEvents returns an error that says what is missing if the API cannot be asked for events.
func (c Config) ListsEvents() error {
	if c.Provider == "creem" && c.WebhookID == "" {
		return errors.New("CREEM_WEBHOOK_ID is missing: Creem has no list of its events; make a webhook of the mode cli, and set its id")
	}
	return nil
}

// Client asks the API of one provider for its events, and for its payments, subscriptions and refunds. It sends the key
// in a header, to the configured address only: it follows no redirect. It asks again after 429, 5xx, a lost connection and
// a truncated answer. Safe for concurrent use.
type Client struct {
	Config
	api     *api
	objects *objectsOf
	base    *url.URL
	http    *http.Client
}

const (
	requestTimeout = time.Minute
	maxAttempts    = 6                // with the waits of 1 to 16 seconds, half a minute
	maxRetryWait   = time.Minute      // between two attempts, unless the API asks for more
	maxRetryAfter  = 5 * time.Minute  // an API that asks for more is asked again in the next run
	maxAnswer      = 64 << 20         // of a page: 100 bodies of the default limit are 50 MiB
	maxSaid        = 300              // characters of an answer in an error
	idleTimeout    = 30 * time.Second // less than servers keep a connection
)

// New returns a client. It connects to nothing.
func New(config Config) (*Client, error) {
	of := apis[config.Provider]
	if of == nil {
		return nil, fmt.Errorf("%q has no API that payfold asks", config.Provider)
	}
	if config.URL == "" {
		config.URL = of.url
	}
	base, err := ParseURL(config.URL)
	if err != nil {
		return nil, err
	}
	if config.RetryWait == 0 {
		config.RetryWait = time.Second
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.IdleConnTimeout = idleTimeout
	return &Client{Config: config, api: of, objects: objectsByProvider[config.Provider], base: base, http: &http.Client{
		Transport: transport, Timeout: requestTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// Close closes the idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Get asks for path and reads the answer, which must be JSON, into the value.
func (c *Client) Get(ctx context.Context, path string, query url.Values, into any) error {
	return c.ask(ctx, http.MethodGet, path, query, nil, into)
}

// Post posts a value as JSON to path, and reads the answer into another. It may send the value several times.
func (c *Client) Post(ctx context.Context, path string, value, into any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return c.ask(ctx, http.MethodPost, path, nil, body, into)
}

// ask asks until there is an answer that counts. It waits as long as the API asks for, or else twice as long each time.
func (c *Client) ask(ctx context.Context, method, path string, query url.Values, body []byte, into any) error {
	wait := backoff.Backoff{Min: c.RetryWait, Max: maxRetryWait}
	for attempt, began := 1, time.Now(); ; attempt++ {
		var err error
		During(ctx, fmt.Sprintf("%s: %s %s has had no answer", c.Provider, method, path), func() {
			err = c.attempt(ctx, method, path, query, body, into)
		})
		var failed *Error
		if err == nil || ctx.Err() != nil || !errors.As(err, &failed) || !failed.temporary() || attempt == maxAttempts {
			return err
		}
		if failed.retryAfter > maxRetryAfter {
			return err
		}
		// Several clients that failed together must not ask together.
		jitter := rand.N(wait.Next()/2 + 1) //nolint:gosec // no secret
		pause := max(failed.retryAfter, wait.Next()/2) + jitter
		waiting(ctx, time.Since(began)+pause, fmt.Sprintf("%s; asked again in %s", err, pause.Round(time.Second/10)))
		if err := backoff.Every(pause).Wait(ctx); err != nil {
			return err
		}
		wait.Double()
	}
}

// attempt asks once. Its error is an *Error.
func (c *Client) attempt(ctx context.Context, method, path string, query url.Values, body []byte, into any) error {
	failed := &Error{Provider: c.Provider, Request: method + " " + path}
	address := *c.base
	address.Path += path
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, address.String(), bytes.NewReader(body))
	if err != nil {
		failed.cause = err
		return failed
	}
	c.api.authorize(request.Header, c.Key.text)
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "payfold")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := c.http.Do(request)
	if err != nil {
		failed.cause = err
		return failed
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	failed.Status = response.StatusCode
	failed.retryAfter = retryAfter(response.Header.Get("Retry-After"), time.Now())
	switch {
	case response.StatusCode/100 != 2:
		failed.said = c.Key.redact(answer)
	case err != nil:
		failed.cause = fmt.Errorf("the answer is truncated: %w", err)
	case len(answer) > maxAnswer:
		failed.cause, failed.permanent = fmt.Errorf("the answer has more than %d MiB", maxAnswer>>20), true
	default:
		if err = json.Unmarshal(answer, into); err == nil {
			return nil
		}
		failed.cause, failed.said = fmt.Errorf("the answer is not the JSON that was expected: %w", err), c.Key.redact(answer)
	}
	return failed
}

// retryAfter reads the header Retry-After, which has seconds or a time; 0 if it has neither. A day is the most that is
// believed.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil && seconds >= 0 {
		return time.Duration(min(seconds, int(day/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, at.Sub(now)), day)
	}
	return 0
}

// ParseURL reads the address of an API: https, or http on this machine, without credentials and query.
func ParseURL(text string) (*url.URL, error) {
	address, err := url.Parse(text)
	switch {
	case err != nil || address.Hostname() == "" || address.User != nil || address.RawQuery != "" || address.Fragment != "":
		return nil, errors.New("it is not an address like https://api.example.com") // the text may have a password
	case address.Scheme == "https", address.Scheme == "http" && slices.Contains(loopback, address.Hostname()):
		if n := len(address.Path); n > 0 && address.Path[n-1] == '/' {
			address.Path = address.Path[:n-1]
		}
		return address, nil
	}
	return nil, errors.New("it must begin with https://: the key is sent to it (http:// is for this machine only)")
}

var loopback = []string{"localhost", "127.0.0.1", "::1"}
