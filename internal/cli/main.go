package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/payfold/payfold/internal/sdnotify"
)

// Exit statuses of every command.
const (
	ExitFailed = 1 // the command failed; standard error says why
	ExitUsage  = 2 // the configuration is wrong; the command did not start
	ExitNo     = 3 // the command succeeded, and its answer is no
)

// Status is an error that ends a command with that exit status, without a message.
type Status int

func (s Status) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// Streams are a process's standard streams. Results go to Out, everything else to Err.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Service is a command that can work until it is stopped: a stop is its normal end if UntilStopped is true.
type Service interface{ UntilStopped() bool }

// Stopped returns nil in place of an error that wraps context.Canceled, if ctx was cancelled: the work was stopped at
// that moment, and nothing failed. It returns every other error.
func Stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// Main parses args, runs the chosen command and returns the exit status. Standard error
// and systemd get the error. A command is a struct of flags with a method
//
//	Run(ctx context.Context, streams cli.Streams) error
//
// After ctx was cancelled, a Service that returns the error of ctx ends with 0. Another command has not done its
// work then and ends with ExitFailed.
func Main(ctx context.Context, grammar any, name, description string, args []string, streams Streams) int {
	parsed, err := Parse(grammar, name, description, args, streams.Out, streams.Err)
	switch {
	case errors.Is(err, ErrPrinted):
		return 0
	case err != nil:
		fmt.Fprintln(streams.Err, err)
		sdnotify.Failed(err)
		return ExitUsage
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(streams)
	if service, is := parsed.Selected().Target.Addr().Interface().(Service); is && service.UntilStopped() {
		err = Stopped(ctx, err)
	}
	var status Status
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		return int(status)
	default:
		fmt.Fprintf(streams.Err, "%s: %v\n", name, err)
		sdnotify.Failed(err)
		return ExitFailed
	}
}
