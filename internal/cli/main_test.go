package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/cli"
)

// work is a command that is stopped, or not, and then returns an error.
type work struct {
	stop    func()
	service bool
	err     error
}

func (w *work) UntilStopped() bool { return w.service }

func (w *work) Run(_ context.Context, _ cli.Streams) error {
	w.stop()
	return w.err
}

func TestAStopIsTheNormalEndOfAServiceOnly(t *testing.T) {
	t.Parallel()
	canceled := fmt.Errorf("set up the export of traces: %w", context.Canceled)
	failed := errors.New("the disk is full")
	for name, c := range map[string]struct {
		service, stopped bool
		err              error
		status           int
	}{
		"a service that is stopped":                       {true, true, nil, 0},
		"a service that is stopped while it starts":       {true, true, canceled, 0},
		"a service that is stopped while it waits":        {true, true, errors.Join(context.Canceled, failed), 0},
		"a service that fails while it is stopped":        {true, true, failed, cli.ExitFailed},
		"a service that is too slow while it is stopped":  {true, true, context.DeadlineExceeded, cli.ExitFailed},
		"a service that cancels its own work":             {true, false, canceled, cli.ExitFailed},
		"a service that fails":                            {true, false, failed, cli.ExitFailed},
		"a service that answers no":                       {true, true, cli.Status(cli.ExitNo), cli.ExitNo},
		"a command that is stopped before its work ended": {false, true, canceled, cli.ExitFailed},
		"a command that is stopped after its work ended":  {false, true, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			stop := func() {}
			if c.stopped {
				stop = cancel
			}
			var grammar struct {
				Work work `cmd:"" default:"withargs"`
			}
			grammar.Work = work{stop, c.service, c.err}
			var out bytes.Buffer
			require.Equal(t, c.status, cli.Main(ctx, &grammar, "program", "", nil, cli.Streams{Out: &out, Err: &out}))
			if c.status == cli.ExitFailed {
				require.Equal(t, fmt.Sprintf("program: %v\n", c.err), out.String())
			} else {
				require.Empty(t, out.String())
			}
		})
	}
}
