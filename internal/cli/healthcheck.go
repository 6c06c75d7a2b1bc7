package cli

import (
	"context"
	"fmt"

	"github.com/payfold/payfold/internal/telemetry"
)

// Healthcheck has the flags of the command healthcheck besides the address. It is for containers
// without a shell: it needs no other settings, no log and no database.
type Healthcheck struct {
	Live bool `name:"live" help:"Ask whether the program runs (/livez), not whether it can work (/readyz)."`
}

// Ask prints ok if the program at that address is healthy. The error is the reason why it is not.
func (h Healthcheck) Ask(ctx context.Context, addr string, streams Streams) error {
	path := "/readyz"
	if h.Live {
		path = "/livez"
	}
	answer, err := telemetry.Ask(ctx, addr, path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s", answer)
	return err
}
