package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/page"
)

// addressFlag says where a running ingest receives deliveries.
type addressFlag struct {
	URL string `name:"url" placeholder:"URL" default:"http://127.0.0.1:8080" help:"Where ingest listens; without a path, that of the provider is added."`
}

// Check implements cli.Checked.
func (a *addressFlag) Check(faults *cli.Faults) {
	address, err := url.Parse(a.URL)
	switch {
	case err != nil: // the error would quote the URL, which may have a password
		faults.Addf("--url cannot be read: it is like http://127.0.0.1:8080")
	case address.Scheme != "http" && address.Scheme != "https":
		faults.Addf("--url must begin with http:// or https://: it is like http://127.0.0.1:8080")
	case address.Hostname() == "":
		faults.Addf("--url names no host: it is like http://127.0.0.1:8080")
	}
}

// answer is what ingest answered; text is nil if it did not answer.
type answer struct {
	status int
	text   []byte
}

// said returns the status in an answer of ingest. The error says that another program has answered.
func (a answer) said() (status string, err error) {
	var read struct{ Status string }
	if err := json.Unmarshal(a.text, &read); err != nil || read.Status == "" {
		return "", fmt.Errorf("the program at --url is not ingest: it answers %s", page.Clean(string(a.text)))
	}
	return read.Status, nil
}

// sendTimeout is longer than ingest takes to answer, also if its log does not.
const sendTimeout = 10 * time.Second

// post signs a body as the provider does, and posts it. The error says why it was not accepted.
func (a *addressFlag) post(ctx context.Context, p *providers.Provider, secret providers.Secret, id string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, a.endpoint(p), bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	request.Header = p.Sign(secret, id, body, time.Now())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return answer{}, fmt.Errorf("%w; does ingest run, and is this its LISTEN_ADDR? --url names another address", err)
	}
	if err != nil {
		return answer{}, unanswered(ctx, err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, unanswered(ctx, err)
	}
	got := answer{response.StatusCode, bytes.TrimSpace(text)}
	if response.StatusCode/100 != 2 {
		return got, fmt.Errorf("answered %s", response.Status)
	}
	return got, nil
}

// unanswered says that the time is over, if it is: the event may be stored, although nobody said so.
func unanswered(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %s, so whether it is stored is not known: %w", sendTimeout, err)
	}
	return err
}

// endpoint returns the URL of the provider's deliveries.
func (a *addressFlag) endpoint(p *providers.Provider) string {
	address, err := url.Parse(a.URL)
	if err != nil || strings.Trim(address.Path, "/") != "" {
		return a.URL
	}
	return address.JoinPath(p.Path()).String()
}
