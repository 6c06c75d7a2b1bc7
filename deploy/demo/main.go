// Command demo fills a running make run with a shop's quarter: signed deliveries of Stripe, Paddle and Creem, and
// events of the shop's own, over HTTP. The shop is the same each time, and so are the ids of its events. So a second
// run changes nothing.
package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/payfold/payfold/internal/report/page"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	flags := flag.NewFlagSet("demo", flag.ExitOnError)
	url := flags.String("url", "http://127.0.0.1:8080", "where ingest listens")
	console := flags.String("console", "http://127.0.0.1:8083", "where the console listens")
	_ = flags.Parse(os.Args[1:]) // it exits
	if err := run(ctx, strings.TrimSuffix(*url, "/"), *console, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "demo: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, url, console string, out io.Writer) error {
	send := &sender{url: url, answers: map[string]int{}}
	if err := send.check(ctx); err != nil {
		return err
	}
	tables, err := open(ctx, os.Getenv("DATABASE_URL"), cmp.Or(os.Getenv("DATA_DIR"), "data"))
	if err != nil {
		return err
	}
	defer tables.db.Close(context.WithoutCancel(ctx))
	shop, err := theShop(ctx, tables)
	if err != nil {
		return err
	}
	ids := shop.ids()
	before, err := tables.applied(ctx, ids)
	if err != nil {
		return err
	}
	deliveries := shop.inOrder()
	for _, d := range deliveries {
		if err := send.send(ctx, d); err != nil {
			return err
		}
	}
	if err := send.forge(ctx, deliveries[0]); err != nil {
		return err
	}
	if err := tables.await(ctx, ids); err != nil {
		return err
	}
	fmt.Fprintf(out, "Sent a shop's quarter to %s: %d deliveries, %d accepted, %d answered as duplicates.\n", url,
		len(deliveries), send.answers["accepted"], send.answers["duplicate"])
	fmt.Fprintf(out, "Refused on purpose: %d unreadable bodies (400) and a forged signature (401).\n", len(sellers))
	if before == len(ids) {
		fmt.Fprintln(out, "The tables had all of its events before, so this changed nothing.")
	}
	return summary(ctx, tables, ids, console, out)
}

// theShop returns the shop as it is in the tables, or a new one whose quarter ends now.
func theShop(ctx context.Context, t *tables) (*shop, error) {
	shop := newShop(time.Now().UTC().Truncate(time.Hour))
	first := shop.inOrder()[0]
	at, err := t.timeOf(ctx, first.id)
	if err == nil && !at.IsZero() {
		shop = newShop(shop.now.Add(at.UTC().Sub(first.arrives)))
	}
	return shop, err
}

// ids returns the ids of the shop's events.
func (s *shop) ids() (ids []string) {
	for _, d := range s.deliveries {
		ids = append(ids, d.id)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// summary says what became of the events, and what to look at.
func summary(ctx context.Context, t *tables, ids []string, console string, out io.Writer) error {
	outcomes, err := t.outcomes(ctx, ids)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\nWhat its %d events did:\n\n", len(ids))
	for _, o := range outcomes {
		if o.Reason == "unknown_product" && o.Events > forgotten {
			err = fmt.Errorf("the projector has another catalogue than deploy/demo/catalogue.yaml: unset CATALOGUE_FILE, and " +
				"take another DATA_DIR")
		}
	}
	if failed := page.Write(out, false, nil, func(p *page.Page) { page.Rows(p, outcomes) }); failed != nil {
		return failed
	}
	settings := ""
	if dir := os.Getenv("DATA_DIR"); dir != "" {
		settings = "DATA_DIR=" + dir + " "
	}
	fmt.Fprintf(out, `
Look at it, after you have opened the link to the console that make run printed:

  %[1]s/                    what needs attention, what waits, revenue by day
  %[1]s/rejected            a product that is missing in the catalogue, and other mistakes
  %[1]s/users/u_ortega      an upgrade, a dispute that was won, half a refund
  %[1]s/users/u_lindqvist   a licence that a chargeback ended
  %[1]s/users/u_pixelfarm   a team that buys a credit pack each day

  %[2]sbin/projector explain --user u_ortega
  %[2]sCATALOGUE_FILE=deploy/demo/catalogue.yaml bin/projector verify

In SQL, who may use what, and the balance of credits:

  select * from portal.entitlement order by user_id;
  select user_id, wallet.balance(user_id) from portal.subscription order by user_id;
`, console, settings)
	return err
}
