package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/ownevents"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/report/page"
)

// senderFlags are the flags of every command that sends the shop's own events.
type senderFlags struct {
	cli.OwnSecretFlags
	addressFlag
	Yes bool `name:"yes" help:"Do not ask before sending; scripts need it."`

	secrets providers.Secrets
}

// Check implements cli.Checked.
func (s *senderFlags) Check(faults *cli.Faults) {
	s.addressFlag.Check(faults)
	s.secrets = s.Require(faults)
}

// send sends the body of an own event.
func (s *senderFlags) send(ctx context.Context, e *ownevents.Event) (answer, error) {
	return s.post(ctx, providers.Named(events.OwnEvents), s.secrets[events.OwnEvents][0], e.ID, e.Body())
}

// confirm asks on the terminal, unless --yes is given. The error says why nothing may be sent.
func (s *senderFlags) confirm(streams cli.Streams) error {
	if s.Yes {
		return nil
	}
	if file, is := streams.In.(*os.File); !is || !term.IsTerminal(int(file.Fd())) {
		return errors.New("nothing was sent: standard input is no terminal, so nobody can be asked; --yes sends without asking")
	}
	return ask(streams.In, streams.Out)
}

// ask returns nil if the person types y or yes.
func ask(in io.Reader, out io.Writer) error {
	fmt.Fprint(out, "Send it? [y/N] ")
	line, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errors.New("nothing was sent")
}

// ownFlags are the flags of a command that sends one own event.
type ownFlags struct {
	senderFlags
	User     string `name:"user" required:"" help:"Your user's id."`
	Customer string `name:"customer" help:"The provider's id of the customer, if there is one: then all events of the customer are in order."`
	Reason   string `name:"reason" required:"" help:"Why, for the people who look at it later."`
	ID       string `name:"id" help:"Id of the event; the default is made of the other flags, so that the same command again does nothing."`

	event ownevents.Event
}

// check checks the flags and makes the event with them. more are further texts, by the names of their flags.
func (o *ownFlags) check(command string, e ownevents.Event, newPayment bool, more map[string]string, faults *cli.Faults) {
	o.Check(faults)
	more["--user"], more["--reason"], more["--customer"], more["--id"] = o.User, o.Reason, o.Customer, o.ID
	good := true
	for _, name := range slices.Sorted(maps.Keys(more)) {
		err := ownevents.CheckText(name, more[name])
		if err == nil && more[name] == "" && slices.Contains(required, name) {
			err = fmt.Errorf("%s is empty", name)
		}
		faults.Add(err)
		good = good && err == nil
	}
	if o.ID != "" && events.CleanID(o.ID) != o.ID {
		faults.Addf("--id must be 1 to 200 printable ASCII characters without spaces, and not begin with sha256:")
	}
	e.User, e.Customer, e.Reason = o.User, o.Customer, o.Reason
	e.Identify(command, o.ID, newPayment)
	if o.event = e; good {
		faults.Add(e.Check())
	}
}

// required are the texts that may not be empty.
var required = []string{"--user", "--reason", "--payment", "--subscription", "PAYMENT"}

// run says what the event does, asks, sends it and shows what it did. If it was sent before and its rows are known, it
// sends nothing.
func (o *ownFlags) run(ctx context.Context, streams cli.Streams, does string) error {
	e := &o.event
	fmt.Fprintf(streams.Out, "%s\nReason: %s\nEvent:  %s\n", does, page.Clean(e.Reason), e.ID)
	if outcome, err := outcomeOf(ctx, e.ID); err == nil {
		fmt.Fprintf(streams.Out, "\nThis was sent before, so nothing is sent. To do it once more, use another --reason, or an --id of your own.\n\n")
		return explained(ctx, e.ID, outcome, streams)
	}
	if err := o.confirm(streams); err != nil {
		return err
	}
	got, err := o.send(ctx, e)
	if err != nil {
		if got.text != nil {
			err = fmt.Errorf("%w %s", err, page.Clean(string(got.text)))
		}
		return fmt.Errorf("%w; run the same command again: it does nothing twice", err)
	}
	status, err := got.said()
	if err != nil {
		return err
	}
	fmt.Fprintf(streams.Out, "ingest: %s\n\n", status)
	if status == "duplicate" {
		fmt.Fprintf(streams.Out, "The same event was sent before, so this changes nothing. To do it once more, use another --reason, or an --id of your own.\n\n")
	}
	outcome, err := awaitOutcome(ctx, e.ID)
	if err != nil {
		fmt.Fprintf(streams.Out, "What it does (%v):\n  projector explain %s\n", err, page.Name(e.ID))
		return nil
	}
	return explained(ctx, e.ID, outcome, streams)
}

// explained prints what an event did. The exit status is 3 if it was rejected.
func explained(ctx context.Context, id, outcome string, streams cli.Streams) error {
	text, err := projector(ctx, "explain", "--", id)
	if err != nil {
		return err
	}
	_, _ = streams.Out.Write(text)
	if outcome == "rejected" {
		return cli.Status(cli.ExitNo)
	}
	return nil
}

// appliedTimeout bounds the wait until the projectors have applied an event.
const appliedTimeout = 10 * time.Second

const askInterval = 200 * time.Millisecond

// awaitOutcome waits until the tables have the event, and returns its outcome. The error says why nobody knows it.
func awaitOutcome(ctx context.Context, id string) (outcome string, err error) {
	limit := time.Now().Add(appliedTimeout)
	for pause := backoff.Every(askInterval); ; {
		outcome, err = outcomeOf(ctx, id)
		if err == nil || !errors.Is(err, errNotKnown) || time.Now().After(limit) {
			return outcome, err
		}
		if err := pause.Wait(ctx); err != nil {
			return "", err
		}
	}
}

// outcomeOf returns what the tables say that an event did.
func outcomeOf(ctx context.Context, id string) (string, error) {
	text, err := projector(ctx, "explain", "--json", "--", id)
	if err != nil {
		return "", err
	}
	var read struct{ Event struct{ Outcome string } }
	err = json.Unmarshal(text, &read)
	return cmp.Or(read.Event.Outcome, "unknown"), err
}
