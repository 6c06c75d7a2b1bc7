package cli

import (
	"context"
	"fmt"

	"github.com/payfold/payfold/internal/telemetry"
)

// Healthcheck is the command that asks whether a program is healthy. It is for containers without a shell: it needs no
// other settings, no log and no database.
type Healthcheck struct {
	Live      bool   `name:"live" help:"Ask whether the program runs (/livez), not whether it can work (/readyz)."`
	AdminAddr string `name:"admin-addr" env:"ADMIN_ADDR" default:"${addr}" help:"Where the program serves health."`
}

// Run prints ok if the program is healthy. The error is the reason why it is not.
func (h *Healthcheck) Run(ctx context.Context, streams Streams) error {
	path := "/readyz"
	if h.Live {
		path = "/livez"
	}
	answer, err := telemetry.Ask(ctx, h.AdminAddr, path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(streams.Out, "%s", answer)
	return err
}
