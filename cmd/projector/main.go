// Command projector folds the log into the tables.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	kongcompletion "github.com/jotaen/kong-completion"

	"github.com/payfold/payfold/internal/cli"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends it at once
	streams := cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	os.Exit(cli.Main(ctx, &grammar{}, "projector", "payfold projector: an append-only log in, the tables of a buyer portal out.", os.Args[1:], streams))
}

type grammar struct {
	cli.Version

	Run         runCommand        `cmd:"" default:"withargs" help:"Project the log as it grows (the default)."`
	Healthcheck cli.Healthcheck   `cmd:"" set:"addr=127.0.0.1:8082" help:"Say whether the projector of this machine or container is ready, or why not."`
	Status      statusCommand     `cmd:"" help:"Show partitions, owners, lag, outcomes, out-of-order and quarantined events, and schemas."`
	Explain     explainCommand    `cmd:"" help:"Show what an event did and why, or what a user has and which events gave it."`
	Verify      verifyCommand     `cmd:"" help:"Compare the tables with a fold of the log, their definitions with this build's, and the log with its signatures."`
	Reconcile   reconcileCommand  `cmd:"" help:"Compare the tables with the payments, subscriptions and refunds that a provider lists."`
	Export      exportCommand     `cmd:"" help:"Write the tables as Parquet or CSV files, for analysts."`
	Rebuild     rebuildCommand    `cmd:"" help:"Fold the whole log into the tables of a candidate schema."`
	Promote     promoteCommand    `cmd:"" help:"Make the tables of a candidate schema live."`
	Settle      settleCommand     `cmd:"" help:"Fold again all events of customers whose events were applied out of order."`
	Quarantine  quarantineCommand `cmd:"" help:"Try an event again whose rows the database refused."`
	Drop        dropCommand       `cmd:"" help:"Drop a schema that is not live."`
	Catalogue   catalogueCommand  `cmd:"" help:"Check a catalogue before it is used."`
	Adopt       adoptCommand      `cmd:"" name:"adopt-log" help:"Continue the tables with a log that replaces a lost one."`

	Invitations invitationsCommand `cmd:"" help:"List the invitations to the repository, or retry those that failed."`

	Console consoleCommand `cmd:"" help:"Serve pages on which people look at events, customers and money."`

	Completion kongcompletion.Completion `cmd:"" help:"Print how to complete commands and flags in bash, zsh or fish."`
}
