// Command ingest receives the provider's webhooks and appends them to the log.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/payfold/payfold/internal/cli"
)

// gcPercent: the heap is small beside what deliveries leave behind. To collect it
// half as often as usual makes each delivery cheaper, for about 20 MB.
const gcPercent = 200

func main() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Main(ctx, &grammar{}, "ingest", "payfold ingest: signed payment events in, an append-only log out.", os.Args[1:], streams))
}

type grammar struct {
	Serve        serveCommand        `cmd:"" default:"withargs" help:"Receive deliveries (the default)."`
	Send         sendCommand         `cmd:"" help:"Sign files and post them, unchanged, as the provider would."`
	CreateStream createStreamCommand `cmd:"" help:"Create the stream in a NATS cluster."`
}
