package reconcile

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/identity"
	"github.com/payfold/payfold/internal/providerapi"
	"github.com/payfold/payfold/internal/providers"
	"github.com/payfold/payfold/internal/store"
)

//go:embed listed_payments.sql
var listedPaymentsSQL string

//go:embed listed_subscriptions.sql
var listedSubscriptionsSQL string

//go:embed listed_refunds.sql
var listedRefundsSQL string

//go:embed sample.sql
var sampleSQL string

// findUnlisted adds what the tables have of a kind and the provider has not listed. If the provider has listed nearly
// no payment of the tables, its list can be about another shop.
func (c *run) findUnlisted(ctx context.Context, kind providerapi.Kind) error {
	if !c.of.API.Lists(kind) {
		return nil
	}
	sql, since := listedPaymentsSQL, c.of.Since
	switch kind {
	case providerapi.Subscriptions:
		sql, since = listedSubscriptionsSQL, time.Unix(0, 0)
	case providerapi.Refunds:
		sql = listedRefundsSQL
	}
	var inTables, count int
	var unlisted []candidate
	err := c.eachName(ctx, sql, []any{c.of.API.Provider, since, c.began.Add(-Lag)}, func(names []string) {
		if names == nil {
			inTables, count, unlisted = 0, 0, nil
			return
		}
		if inTables++; c.wasListed(kind, names) {
			return
		}
		if count++; count <= maxDifferences {
			unlisted = append(unlisted, candidate{kind, names})
		}
	})
	if err != nil {
		return fmt.Errorf("read the %ss of the tables: %w", kind, err)
	}
	if kind == providerapi.Payments && (inTables-count)*20 <= inTables {
		if err := c.findStranger(ctx); err != nil || c.result.Stranger {
			return err
		}
	}
	c.dropped = c.dropped || count > maxDifferences
	for _, one := range unlisted {
		c.add(one)
	}
	return nil
}

// eachName calls do with the names of each row, first those by which the provider may find it. The tables can be read
// again from the beginning: do is called with nil then.
func (c *run) eachName(ctx context.Context, sql string, args []any, do func(names []string)) error {
	return c.of.Tables.View(ctx, func(ctx context.Context, tx pgx.Tx) error {
		do(nil)
		rows, _ := tx.Query(ctx, sql, args...) // ForEachRow returns its error
		var name, transaction, order string
		_, err := pgx.ForEachRow(rows, []any{&name, &transaction, &order}, func() error {
			names := []string{name}
			for _, other := range []string{transaction, order} {
				if other != "" && other != name {
					names = append(names, other)
				}
			}
			do(names)
			return nil
		})
		return err
	})
}

// findStranger asks the provider for some payments of the tables, whenever they were made. If it knows none of them, it
// is asked about another shop. One payment alone can be wrong in the tables.
func (c *run) findStranger(ctx context.Context) error {
	var asked [][]string
	err := c.eachName(ctx, sampleSQL, []any{c.of.API.Provider, c.began.Add(-Lag), sample / 2}, func(names []string) {
		if asked = append(asked, names); names == nil {
			asked = nil
		}
	})
	if err != nil {
		return fmt.Errorf("read some payments of the tables: %w", err)
	}
	for _, names := range asked {
		if c.wasListed(providerapi.Payments, names) {
			return nil
		}
		objects, err := c.find(ctx, candidate{providerapi.Payments, names})
		if err != nil || len(objects) > 0 {
			return err
		}
	}
	c.result.Asked, c.result.Stranger = len(asked), len(asked) > 1
	return nil
}

func (c *run) find(ctx context.Context, one candidate) ([]providerapi.Object, error) {
	objects, err := c.of.API.Find(ctx, one.kind, one.names...)
	if err != nil {
		return nil, fmt.Errorf("ask %s for %s %s: %w", c.of.API.Provider, one.kind, one.names[0], err)
	}
	return objects, nil
}

// lookAgain asks the provider for each candidate, and then compares with the tables of one moment.
func (c *run) lookAgain(ctx context.Context) error {
	var objects []providerapi.Object
	var unknown []candidate
	for _, one := range c.candidates {
		found, err := c.find(ctx, one)
		if err != nil {
			return err
		}
		for _, object := range found {
			if object.Kind == one.kind {
				objects = append(objects, object)
			}
		}
		if len(found) == 0 {
			unknown = append(unknown, one)
		}
	}
	var differences []Difference
	var positions map[int]uint64
	err := c.of.Tables.View(ctx, func(ctx context.Context, tx pgx.Tx) (err error) {
		if positions, err = store.PositionsIn(ctx, tx); err != nil {
			return err
		}
		if differences, err = c.compare(ctx, tx, objects); err != nil {
			return err
		}
		lacking, err := c.unknown(ctx, tx, unknown)
		differences = append(differences, lacking...)
		return err
	})
	if err != nil {
		return err
	}
	waiting, err := c.namesInLog(ctx, positions, differences)
	if err != nil {
		return err
	}
	for i := range differences {
		c.judge(&differences[i], waiting)
	}
	c.result.Found, c.result.More = differences, c.dropped
	return nil
}

// judge decides whether a difference counts, and what repairs it.
func (c *run) judge(d *Difference, waiting map[string]bool) {
	switch {
	case slices.ContainsFunc(d.names, func(name string) bool { return waiting[name] }):
		d.Lagging = InLog
	case d.changed.After(c.began.Add(-Lag)):
		d.Lagging = Young
	}
	if d.Lagging != "" {
		c.result.OnItsWay++
		return
	}
	c.result.Differences++
	d.Repair = c.repair(d)
}

// namesInLog returns those names of the differences that events name which the log has and the tables do not.
func (c *run) namesInLog(ctx context.Context, positions map[int]uint64, differences []Difference) (map[string]bool,
	error,
) {
	if len(differences) == 0 {
		return nil, nil
	}
	wanted, waiting := map[string]bool{}, map[string]bool{}
	for _, d := range differences {
		for _, name := range d.names {
			wanted[name] = name != ""
		}
	}
	info, err := c.of.Log.Info(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := identity.Check(ctx, c.of.Log, c.of.Tables, info); err != nil {
		return nil, err
	}
	least := uint64(math.MaxUint64)
	for _, position := range positions {
		least = min(least, position)
	}
	if least >= info.Last {
		return nil, nil
	}
	err = c.of.Log.ReadUntil(ctx, max(least+1, info.First), info.Last, func(m events.Message) error {
		if m.Seq <= positions[m.Partition] {
			return nil
		}
		e := providers.Decode(m)
		for _, name := range []string{e.Transaction, e.Order, e.SubscriptionID, e.Reversal.ID} {
			if wanted[name] {
				waiting[name] = true
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for what the tables do not have yet: %w", err)
	}
	return waiting, nil
}
