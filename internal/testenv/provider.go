package testenv

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/payfold/payfold/internal/testenv/specification"
)

// Provider delivers signed events as a payment provider does, and repeats deliveries that
// are not answered 200.
type Provider struct {
	URL    string
	Secret string
	Client *http.Client
}

const retryPause = 20 * time.Millisecond // a real provider waits minutes

// Deliver delivers once. Without an answer the status is 0.
func (p *Provider) Deliver(ctx context.Context, body string) (status int, answer string, err error) {
	signature := specification.Sign(specification.NewSecret(p.Secret), []byte(body))
	return p.Post(ctx, p.URL, http.Header{specification.SignatureHeader: {signature}}, []byte(body))
}

// Post posts a body with these headers.
func (p *Provider) Post(ctx context.Context, url string, header http.Header, body []byte) (status int, answer string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	response, err := p.Client.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	return response.StatusCode, string(text), err
}

// DeliverUntilAccepted repeats a delivery until it is answered 200. It returns the status
// in the answer, accepted or duplicate, or the error of ctx.
func (p *Provider) DeliverUntilAccepted(ctx context.Context, body string) (string, error) {
	for {
		status, text, err := p.Deliver(ctx, body)
		if err == nil && status == http.StatusOK {
			var answer struct{ Status string }
			if err := json.Unmarshal([]byte(text), &answer); err != nil {
				return "", fmt.Errorf("read the answer %q: %w", text, err)
			}
			return answer.Status, nil
		}
		select {
		case <-ctx.Done():
			return "", fmt.Errorf("%w; the last answer was %d %s %v", ctx.Err(), status, text, err)
		case <-time.After(retryPause):
		}
	}
}
