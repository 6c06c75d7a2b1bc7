package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/payfold/payfold/internal/catalogue"
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/report/products"
	"github.com/payfold/payfold/internal/store"
)

type catalogueCommand struct {
	Check catalogueCheckCommand `cmd:"" help:"Find mistakes in a catalogue, and products that were bought and it lacks."`
}

type catalogueCheckCommand struct {
	readFlags
	File string `arg:"" help:"The catalogue."`
}

// Run checks the file, and compares it with the live tables if there are any. The exit status is 3 if the file has a
// mistake or lacks a product that was bought.
func (c *catalogueCheckCommand) Run(ctx context.Context, streams cli.Streams) error {
	text, err := os.ReadFile(c.File)
	if err != nil {
		return fmt.Errorf("read the catalogue: %w", err)
	}
	checked := products.Checked{File: c.File}
	sold, err := catalogue.Parse(text)
	if err != nil {
		checked.Faults = strings.Split(err.Error(), "\n")
	} else {
		checked.Products = len(sold.Summary().Products)
		if err := c.compare(ctx, streams, sold, &checked); err != nil {
			return err
		}
	}
	if err := checked.Write(streams.Out, c.JSON); err != nil {
		return err
	}
	if !checked.Holds() {
		return cli.Status(cli.ExitNo)
	}
	return nil
}

// compare asks the live tables. If there are none, or no database, checked says so.
func (c *catalogueCheckCommand) compare(
	ctx context.Context, streams cli.Streams, sold *catalogue.Catalogue, checked *products.Checked,
) error {
	if err := c.expectDatabase(); err != nil {
		checked.NotAsked = err.Error()
		return nil
	}
	err := c.read(ctx, c.QuietLogger(streams.Err), func(ctx context.Context, s *store.Store) error {
		if _, err := s.SchemaNamed(ctx, store.LiveSchema); err != nil {
			return err
		}
		answer, err := products.Check(ctx, s, sold)
		if err == nil {
			checked.Answer = &answer
		}
		return err
	})
	if errors.Is(err, errNoAnswer) || errors.Is(err, store.ErrNoSchema) {
		checked.NotAsked = err.Error()
		return nil
	}
	return err
}
