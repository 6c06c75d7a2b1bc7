package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"syscall"
	"time"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// secret is what make run sets if no signing secret is set. The demo knows no other, so it cannot fill the log of a
// real shop.
const secret = "whsec_local_development"

// sellers are the providers whose deliveries the demo sends.
var sellers = []string{"stripe", "paddle", "creem", events.OwnEvents}

// sender delivers to a running ingest, as the providers do.
type sender struct {
	url     string
	answers map[string]int // how many deliveries had each answer
}

// check finds out whether ingest serves all sellers with the demo's secret. It sends each an unreadable body, which
// ingest refuses after it has checked the signature, and does not store.
func (s *sender) check(ctx context.Context) error {
	for _, provider := range sellers {
		status, _, err := s.post(ctx, delivery{provider: provider, body: []byte("this is no event")}, secret)
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return fmt.Errorf("nothing listens on %s: start payfold with make run, or name its address: make demo URL=…", s.url)
		case err != nil:
			return err
		case status == http.StatusNotFound || status == http.StatusUnauthorized:
			return fmt.Errorf("nothing was sent: %s answers %d to %s, so it has signing secrets of its own, or is no ingest; "+
				"the demo is for a make run without secrets", s.url, status, provider)
		case status != http.StatusBadRequest:
			return fmt.Errorf("nothing was sent: the program on %s is no ingest, it answers %d", s.url, status)
		}
	}
	return nil
}

// forge sends a delivery that nobody has signed who knows the secret.
func (s *sender) forge(ctx context.Context, d delivery) error {
	status, text, err := s.post(ctx, d, "whsec_of_somebody_else")
	if err == nil && status != http.StatusUnauthorized {
		err = fmt.Errorf("a forged delivery is answered %d %s", status, text)
	}
	return err
}

const (
	retries    = 30
	retryPause = time.Second // ingest asks for it by Retry-After
)

// send delivers until ingest has stored the event.
func (s *sender) send(ctx context.Context, d delivery) error {
	for attempt := 1; ; attempt++ {
		status, text, err := s.post(ctx, d, secret)
		if err != nil {
			return err
		}
		var answer struct{ Status string }
		if err := json.Unmarshal(text, &answer); status == http.StatusOK && err == nil {
			s.answers[answer.Status]++
			return nil
		}
		if status != http.StatusServiceUnavailable || attempt == retries {
			return fmt.Errorf("%s %s is answered %d %s", d.provider, d.id, status, text)
		}
		if err := backoff.Every(retryPause).Wait(ctx); err != nil {
			return err
		}
	}
}

// post signs a body and posts it.
func (s *sender) post(ctx context.Context, d delivery, with string) (status int, text []byte, err error) {
	provider := providers.Named(d.provider)
	key, err := provider.NewSecret(with)
	if err != nil {
		return 0, nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+provider.Path(), bytes.NewReader(d.body))
	if err != nil {
		return 0, nil, err
	}
	request.Header = provider.Sign(key, d.id, d.body, time.Now())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	text, err = io.ReadAll(io.LimitReader(response.Body, 1<<16))
	return response.StatusCode, bytes.TrimSpace(text), err
}
