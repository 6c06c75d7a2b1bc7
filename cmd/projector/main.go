// Command projector folds the log into the tables.
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
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

type grammar struct {
	Run runCommand `cmd:"" default:"withargs" help:"Project the log as it grows (the default)."`
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var g grammar
	_, err := cli.Parse(&g, "projector", "payfold projector: an append-only log in, the tables of a buyer portal out.", args, stdout, stderr)
	switch {
	case errors.Is(err, cli.ErrHelp):
		return 0
	case err != nil:
		fmt.Fprintln(stderr, err)
		return cli.ExitUsage
	}
	if err := g.Run.run(ctx, stderr); err != nil {
		fmt.Fprintln(stderr, "projector:", err)
		return 1
	}
	return 0
}
