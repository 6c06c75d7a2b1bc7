package official

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// packages is a process that signs and verifies with the providers' packages (sign.mjs). Safe for concurrent use.
type packages struct {
	mu       sync.Mutex
	requests *json.Encoder
	answers  *bufio.Reader
}

type request struct {
	Do      string            `json:"do"`
	By      string            `json:"by"`
	Secrets []string          `json:"secrets"`
	ID      string            `json:"id"`
	At      int64             `json:"at"`
	Body    string            `json:"body"`
	Headers map[string]string `json:"headers"`
}

// startPackages starts the process. stop ends it.
func startPackages() (p *packages, stop func(), err error) {
	node := exec.Command("node", "sign.mjs")
	node.Stderr = os.Stderr
	in, err := node.StdinPipe()
	if err != nil {
		return nil, nil, err
	}
	out, err := node.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := node.Start(); err != nil {
		return nil, nil, fmt.Errorf("start sign.mjs; make test-signatures says what it needs: %w", err)
	}
	stop = func() {
		_ = in.Close()
		_ = node.Wait()
	}
	return &packages{requests: json.NewEncoder(in), answers: bufio.NewReader(out)}, stop, nil
}

func (p *packages) ask(t *testing.T, r request) (headers map[string]string, refusal string) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	require.NoError(t, p.requests.Encode(r))
	line, err := p.answers.ReadBytes('\n')
	if err == io.EOF {
		require.Fail(t, "sign.mjs has ended")
	}
	require.NoError(t, err)
	var answer struct {
		Headers map[string]string
		Error   string
	}
	require.NoError(t, json.Unmarshal(line, &answer))
	return answer.Headers, answer.Error
}

// sign returns the headers with which the sender would send the body at that time, with one signature for each secret.
func (p *packages) sign(t *testing.T, by, id, body string, at time.Time, secrets ...string) http.Header {
	t.Helper()
	signed, refusal := p.ask(t, request{Do: "sign", By: by, Secrets: secrets, ID: id, At: at.Unix(), Body: body})
	require.Empty(t, refusal)
	header := http.Header{}
	for name, value := range signed {
		header.Set(name, value)
	}
	return header
}

// verify returns what the sender's package has against the delivery; empty if it accepts it.
func (p *packages) verify(t *testing.T, by, body string, header http.Header, secret string) (refusal string) {
	t.Helper()
	headers := map[string]string{}
	for name := range header {
		headers[strings.ToLower(name)] = header.Get(name)
	}
	_, refusal = p.ask(t, request{Do: "verify", By: by, Secrets: []string{secret}, Headers: headers, Body: body})
	return refusal
}
