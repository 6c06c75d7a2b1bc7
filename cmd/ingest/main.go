// Command ingest receives the provider's webhooks and appends them to the log.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/payfold/payfold/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

type grammar struct {
	Serve        serveCommand        `cmd:"" default:"withargs" help:"Receive deliveries (the default)."`
	Send         sendCommand         `cmd:"" help:"Sign files and post them, unchanged, as the provider would."`
	CreateStream createStreamCommand `cmd:"" help:"Create the stream in a NATS cluster."`
}

func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var g grammar
	command, err := cli.Parse(&g, "ingest", "payfold ingest: signed payment events in, an append-only log out.", args, stdout, stderr)
	switch {
	case errors.Is(err, cli.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return cli.ExitUsage
	}
	switch command {
	case "send <files>":
		return g.Send.run(ctx, stdin, stdout, stderr)
	case "create-stream":
		err = g.CreateStream.run(ctx, stderr)
	default:
		err = g.Serve.run(ctx, stderr)
	}
	if err != nil {
		fmt.Fprintln(stderr, "ingest:", err)
		return 1
	}
	return 0
}
