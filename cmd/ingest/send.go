package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/eventlog"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/page"
)

type sendCommand struct {
	secretFlags
	Provider string `name:"provider" placeholder:"NAME" default:"provider" help:"Whose bodies the files have: it decides the signature and the path."`
	ID       string `name:"id" help:"The event's id for a provider that sends it in a header; the default is made of the body."`
	addressFlag
	Salvaged bool     `name:"salvaged" help:"The files come from ingest check --salvage and have one event a line."`
	Files    []string `arg:"" help:"Files with one body each; - is standard input."`
}

// Check implements cli.Checked.
func (c *sendCommand) Check(faults *cli.Faults) {
	c.secretFlags.Check(faults)
	switch {
	case providers.Named(c.Provider) == nil:
		faults.Addf("--provider is %q, must be one of %s", c.Provider, strings.Join(providers.Names(), ", "))
	case len(c.secrets) > 0 && len(c.secrets[c.Provider]) == 0 && !c.Salvaged:
		faults.Addf("%s is missing: ingest send signs with it", cli.SecretOf(c.Provider))
	}
	c.addressFlag.Check(faults)
}

// Run signs the exact bytes of each file, posts them unchanged and prints the answer. It
// fails if any answer is not a 2xx.
func (c *sendCommand) Run(ctx context.Context, streams cli.Streams) (err error) {
	for _, file := range c.Files {
		send := c.sendBody
		if c.Salvaged {
			send = c.sendLines
		}
		if failed := send(ctx, file, streams); failed != nil {
			fmt.Fprintf(streams.Err, "ingest send: %s: %v\n", file, failed)
			err = cli.Status(cli.ExitFailed)
		}
	}
	return err
}

func (c *sendCommand) sendBody(ctx context.Context, file string, streams cli.Streams) error {
	input, err := openInput(file, streams)
	if err != nil {
		return err
	}
	defer input.Close()
	body, err := io.ReadAll(input)
	if err != nil {
		return err
	}
	return c.send(ctx, c.Provider, c.ID, body, streams.Out)
}

// errNotSalvaged: a file with one body is sent without --salvaged.
var errNotSalvaged = errors.New("it is not a file of ingest check --salvage, which has one event a line; leave out --salvaged for files with one body each")

// sendLines sends each line's event. It continues after an event that is refused.
func (c *sendCommand) sendLines(ctx context.Context, file string, streams cli.Streams) error {
	input, err := openInput(file, streams)
	if err != nil {
		return err
	}
	defer input.Close()
	refused := 0
	for decoder := json.NewDecoder(input); ; {
		var event eventlog.Salvaged
		err := decoder.Decode(&event)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("%w (%w)", errNotSalvaged, err)
		}
		if event.Seq == 0 {
			return errNotSalvaged
		}
		err = events.ErrForm
		if events.NewForm(event.Headers[events.HeaderForm]) == events.AsReceived {
			err = c.send(ctx, cmp.Or(event.Headers[events.HeaderProvider], c.Provider), event.Headers[events.HeaderID], event.Data(), streams.Out)
		}
		if err != nil {
			if ctx.Err() != nil {
				return err
			}
			refused++
			fmt.Fprintf(streams.Err, "ingest send: %s: seq %d: %v\n", file, event.Seq, err)
		}
	}
	if refused > 0 {
		return fmt.Errorf("not accepted: %s", page.Count(refused, "event"))
	}
	return nil
}

// send signs a body as the provider does, posts it and prints the answer. id is the event's id if the provider sends it
// in a header; if it is empty, it is made of the body, so that the same body is the same event.
func (c *sendCommand) send(ctx context.Context, provider, id string, body []byte, stdout io.Writer) error {
	p := providers.Named(provider)
	if p == nil || len(c.secrets[provider]) == 0 {
		return fmt.Errorf("%s is missing: an event of %s is signed with it", cli.SecretOf(provider), provider)
	}
	if id == "" {
		sum := sha256.Sum256(body)
		id = "msg_" + hex.EncodeToString(sum[:12])
	}
	answer, err := c.post(ctx, p, c.secrets[provider][0], id, body)
	if answer.text != nil {
		fmt.Fprintf(stdout, "%d %s\n", answer.status, answer.text)
	}
	return err
}

// openInput opens a file; - is standard input.
func openInput(file string, streams cli.Streams) (io.ReadCloser, error) {
	if file == "-" {
		return io.NopCloser(streams.In), nil
	}
	return os.Open(file)
}
