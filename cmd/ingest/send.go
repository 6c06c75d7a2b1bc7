package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/webhook"
)

type sendCommand struct {
	secretFlags
	URL   string   `name:"url" default:"http://127.0.0.1:8080/api/payments/provider/webhook" help:"The endpoint."`
	Files []string `arg:"" help:"Files with one body each; - is standard input."`
}

const sendTimeout = 30 * time.Second

// Run signs the exact bytes of each file, posts them unchanged and prints the
// answer. It fails where any answer is not a 2xx.
func (c *sendCommand) Run(ctx context.Context, streams cli.Streams) (err error) {
	for _, file := range c.Files {
		if failed := c.send(ctx, file, streams.In, streams.Out); failed != nil {
			fmt.Fprintf(streams.Err, "ingest send: %s: %v\n", file, failed)
			err = cli.Status(cli.ExitFailed)
		}
	}
	return err
}

func (c *sendCommand) send(ctx context.Context, file string, stdin io.Reader, stdout io.Writer) error {
	body, err := readInput(file, stdin)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(webhook.SignatureHeader, c.secrets[0].Sign(body))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d %s\n", response.StatusCode, bytes.TrimSpace(answer))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("answered %s", response.Status)
	}
	return nil
}

func readInput(file string, stdin io.Reader) ([]byte, error) {
	if file == "-" {
		return io.ReadAll(stdin)
	}
	return os.ReadFile(file)
}
