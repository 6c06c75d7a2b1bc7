// Command ingest receives the provider's webhooks and appends them to the log.
package main

import (
	"context"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"

	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/payfold/payfold/internal/cli"
)

// gcPercent: the live heap is small compared to the garbage of deliveries. Collecting half as
// often as usual makes each delivery cheaper, and takes about 20 MB more.
const gcPercent = 200

// spareThreads: one thread is almost always inside a write or an fsync of the log, and Go
// gives its core to another thread only after a while. With a fixed GOMAXPROCS, Go does not
// follow a change of the container's CPU limit; ingest must be restarted then.
const spareThreads = 1

func main() {
	tune()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Main(ctx, &grammar{}, "ingest", "payfold ingest: signed payment events in, an append-only log out.", os.Args[1:], streams))
}

// tune sets the Go runtime's parameters that the environment does not set. The embedded server remembers the ids of the
// duplicate window: they can be so many that gcPercent alone would exceed the memory limit.
func tune() {
	cli.LimitMemory()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareThreads)
	}
}

type grammar struct {
	cli.Version
	Serve        serveCommand        `cmd:"" default:"withargs" help:"Receive deliveries (the default)."`
	Status       statusCommand       `cmd:"" help:"Show the state of the running ingest: the log, its archive, the answers of the last minutes."`
	Healthcheck  cli.Healthcheck     `cmd:"" set:"addr=127.0.0.1:8081" help:"Say whether the ingest of this machine or container is ready, or why not."`
	Send         sendCommand         `cmd:"" help:"Sign files and post them, unchanged, as the provider would."`
	Pull         pullCommand         `cmd:"" help:"Append the events that a provider has and the log lacks."`
	Give         giveCommand         `cmd:"" help:"Give a user credits, a licence or a subscription."`
	Take         takeCommand         `cmd:"" help:"Take back what a payment or a gift gave."`
	Extend       extendCommand       `cmd:"" help:"Extend the period of a subscription."`
	Complete     completeCommand     `cmd:"" help:"Say whose a payment is that waits for its user."`
	Import       importCommand       `cmd:"" help:"Import the subscribers, balances and licences of before from a CSV file."`
	Check        checkCommand        `cmd:"" help:"Read every record of the embedded log and report all damage."`
	Archive      archiveCommand      `cmd:"" help:"Show what the archive of the log holds, and how far it is behind."`
	Restore      restoreCommand      `cmd:"" help:"Restore a lost log from its archive."`
	CreateStream createStreamCommand `cmd:"" help:"Create the stream in a NATS cluster; needs NATS_URL."`
	Checkpoint   checkpointCommand   `cmd:"" help:"Sign the fingerprint of the whole log, to keep elsewhere; needs CHECKPOINT_KEY_FILE."`
	CheckProof   checkProofCommand   `cmd:"" name:"check-proof" help:"Check, offline, the proof that an event is in the log."`

	Completion kongcompletion.Completion `cmd:"" help:"Print how to complete commands and flags in bash, zsh or fish."`
}
