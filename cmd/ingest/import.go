package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/payfold/payfold/internal/backoff"
	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/ownevents"
	"github.com/payfold/payfold/internal/report/page"
)

type importCommand struct {
	senderFlags
	cli.CatalogueFlag
	Exported string `name:"exported" placeholder:"TIME" help:"When the file was exported: the time of the lines without one. The same time each time that the file is imported."`
	DryRun   bool   `name:"dry-run" help:"Check all lines, and send nothing."`
	File     string `arg:"" help:"CSV file; - is standard input."`

	exported time.Time
	sold     *catalogue.Catalogue
}

// maxFaults bounds how many faults are printed.
const maxFaults = 100

// senders is how many events are sent at once: ingest makes them durable together.
const senders = 16

// Check implements cli.Checked.
func (c *importCommand) Check(faults *cli.Faults) {
	c.senderFlags.Check(faults)
	c.sold = c.Read(faults)
	var err error
	if c.Exported != "" {
		c.exported, err = ownevents.ParseTime("--exported", c.Exported)
		faults.Add(err)
	}
	if c.File == "-" && !c.Yes && !c.DryRun {
		faults.Addf("a file on standard input needs --yes or --dry-run, because nobody can be asked there")
	}
}

// Run checks all lines, asks, and sends them. If any line is wrong, it sends nothing.
func (c *importCommand) Run(ctx context.Context, streams cli.Streams) error {
	input, err := openInput(c.File, streams)
	if err != nil {
		return err
	}
	defer input.Close()
	lines, faults := ownevents.Importer{Catalogue: c.sold, Exported: c.exported, Now: time.Now()}.Read(input)
	if len(faults) > 0 {
		for _, fault := range faults[:min(len(faults), maxFaults)] {
			fmt.Fprintf(streams.Err, "%s: %s\n", c.File, page.Clean(fault.Error()))
		}
		if more := len(faults) - maxFaults; more > 0 {
			fmt.Fprintf(streams.Err, "%s: and %d more\n", c.File, more)
		}
		return fmt.Errorf("nothing was sent: %s", page.Count(len(faults), "fault"))
	}
	summarize(streams.Out, lines)
	if c.DryRun {
		fmt.Fprintln(streams.Out, "All lines can be sent. This was a dry run: nothing was sent.")
		return nil
	}
	if err := c.confirm(streams); err != nil {
		return err
	}
	sent, err := c.sendAll(ctx, lines, streams.Err)
	fmt.Fprintf(streams.Out, "sent: %s of %s\n", page.Grouped(int64(sent)), page.Count(len(lines), "line"))
	if err != nil {
		return fmt.Errorf("%w; import the same file again: what was sent does nothing twice", err)
	}
	fmt.Fprintln(streams.Out, "What became of them: projector status; of one user: projector explain --user USER")
	return nil
}

// summarize prints what the lines are.
func summarize(out io.Writer, lines []ownevents.Line) {
	count, credits := map[string]int{}, int64(0)
	for i := range lines {
		count[lines[i].What]++
		credits += lines[i].Event.Credits
	}
	fmt.Fprintf(out, "Import %s: %s, %s with %s in all, %s.\n", page.Count(len(lines), "line"), page.Count(count[ownevents.ASubscription], "subscription"),
		page.Count(count[ownevents.ABalance], "balance"), page.Count(credits, "credit"), page.Count(count[ownevents.ALicence], "licence"))
}

// sendAll sends the events, some at once, and returns how many ingest has accepted. It stops at the first one that is not.
func (c *importCommand) sendAll(ctx context.Context, lines []ownevents.Line, progress io.Writer) (sent int, err error) {
	group, sending := errgroup.WithContext(ctx)
	group.SetLimit(senders)
	var counting sync.Mutex
	sayIfDue := progressTo(progress)
	for i := range lines {
		if sending.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := c.sendLine(sending, &lines[i]); err != nil {
				return err
			}
			counting.Lock()
			defer counting.Unlock()
			sent++
			sayIfDue("sent: %d of %d\n", sent, len(lines))
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return sent, err
	}
	return sent, ctx.Err()
}

// attempts is how often a line is sent while ingest is busy.
const attempts = 5

func (c *importCommand) sendLine(ctx context.Context, line *ownevents.Line) error {
	pause := backoff.Backoff{Min: time.Second, Max: 4 * time.Second}
	for attempt := 1; ; attempt++ {
		got, err := c.send(ctx, &line.Event)
		if err == nil {
			_, err = got.said()
			return err
		}
		if got.status != http.StatusServiceUnavailable || attempt == attempts {
			return fmt.Errorf("line %d: %w %s", line.Number, err, page.Clean(string(got.text)))
		}
		if err := pause.Wait(ctx); err != nil {
			return err
		}
	}
}
