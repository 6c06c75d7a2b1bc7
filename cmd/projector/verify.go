package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/projector"
	"github.com/payfold/payfold/internal/store"
	"github.com/payfold/payfold/internal/webhook"
)

type verifyCommand struct {
	sourceFlags
	rulesFlags
	extrasFlag
	cli.SecretFlags
	RetiredFile string `name:"provider-webhook-secrets-retired-file" env:"PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE" help:"File with the secrets of the past, one a line."`
	Schema      string `name:"schema" default:"portal" help:"The tables to look at."`
	Strict      bool   `name:"strict" help:"A message that no given secret verifies counts as wrong."`
	JSON        bool   `name:"json" help:"What is found, one JSON object a line; the verdict last."`

	signers []projector.Signer
}

// Check implements cli.Checked.
func (c *verifyCommand) Check(faults *cli.Faults) {
	c.sourceFlags.Check(faults)
	c.rulesFlags.Check(faults)
	c.extrasFlag.check(&c.rules, faults)
	if c.Schema != store.LiveSchema && c.Schema != store.PreviousSchema {
		faults.Add(store.CheckName(c.Schema))
	}
	current, previous := c.Take(faults)
	secrets := []string{current, previous}
	if c.RetiredFile != "" {
		text, err := os.ReadFile(c.RetiredFile)
		if err != nil {
			faults.Addf("PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE: %w", err)
		}
		secrets = append(secrets, strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")...)
	}
	c.signers = nil
	for _, secret := range secrets {
		if secret != "" {
			c.signers = append(c.signers, webhook.NewSecret(secret))
		}
	}
	if c.Strict && len(c.signers) == 0 {
		faults.Addf("--strict: no secret is given, so every message would count as wrong; set %s or PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE", cli.SecretName)
	}
}

// Run prints every difference, and ends with status 3 where there is one.
func (c *verifyCommand) Run(ctx context.Context, streams cli.Streams) error {
	logger := c.QuietLogger(streams.Err)
	return c.withSchema(ctx, c.Schema, logger, func(ctx context.Context, s sources) error {
		inBackground()
		if _, err := s.info(ctx); err != nil {
			return err
		}
		scratch, err := s.store.Beside(ctx, store.VerifySchema)
		if err != nil {
			return err
		}
		defer scratch.Close()
		unlock, err := scratch.LockSchema(ctx)
		if err != nil {
			return err
		}
		defer unlock()
		progress, findings := newProgress(streams, "verify "+c.Schema, c.JSON), findings{streams.Out, c.JSON}
		verify := projector.Verify{
			Log: s.log, Tables: s.store, Scratch: scratch, Rules: c.rules, Signers: c.signers, Strict: c.Strict, Logger: logger,
			Progress: progress.at, Fault: findings.fault, Difference: findings.difference, Definition: findings.definition,
		}
		verdict, err := verify.Run(ctx)
		progress.end()
		if err != nil {
			return err
		}
		findings.verdict(verdict)
		if !verdict.Holds() {
			return cli.Status(cli.ExitNo)
		}
		return nil
	})
}

// findings prints what is found: sentences, or JSON lines.
type findings struct {
	out    io.Writer
	asJSON bool
}

func (f findings) fault(fault projector.Fault) {
	if f.asJSON {
		f.line(fault)
		return
	}
	fmt.Fprintf(f.out, "message %d: %s\n", fault.Seq, fault.Fault)
}

func (f findings) difference(d store.Difference) {
	why := ""
	if d.OutOfOrder {
		why = " (out of order)"
	}
	switch {
	case f.asJSON:
		f.line(d)
	case d.Fault == store.Changed:
		for _, column := range d.Columns {
			fmt.Fprintf(f.out, "%s %q: %s is %s, the log gives %s%s\n", d.Table, d.Key, column.Column, orNull(column.Is), orNull(column.Should), why)
		}
	case d.Fault == store.Missing:
		fmt.Fprintf(f.out, "%s %q: the row is missing%s\n", d.Table, d.Key, why)
	default:
		fmt.Fprintf(f.out, "%s %q: unexpected row%s\n", d.Table, d.Key, why)
	}
}

func (f findings) definition(d store.DefinitionDifference) {
	switch {
	case f.asJSON:
		f.line(d)
	case d.Fault == store.Changed:
		fmt.Fprintf(f.out, "%s: it is %s, this build makes %s\n", d.Object, orNull(d.Is), orNull(d.Should))
	case d.Fault == store.Missing:
		fmt.Fprintf(f.out, "%s: it is missing\n", d.Object)
	default:
		fmt.Fprintf(f.out, "%s: this build makes none\n", d.Object)
	}
}

func orNull(text *string) string {
	if text == nil {
		return "null"
	}
	return fmt.Sprintf("%q", *text)
}

func (f findings) verdict(v projector.Verdict) {
	if f.asJSON {
		f.line(v)
		return
	}
	for _, sum := range v.Sums {
		if sum.Wrong > 0 {
			fmt.Fprintf(f.out, "not so: %s (%d rows)\n", sum.Rule, sum.Wrong)
		}
	}
	if v.Unverifiable > 0 {
		fmt.Fprintf(f.out, "%d messages were signed with a secret that was not given%s\n", v.Unverifiable, notWrong(v))
	}
	if v.OutOfOrder > 0 {
		settle := "projector settle"
		if v.Schema != store.LiveSchema {
			settle = "projector rebuild"
		}
		fmt.Fprintf(f.out, "%d rows differ because events were applied out of the log's order; to settle them: %s\n", v.OutOfOrder, settle)
	}
	if v.Holds() {
		fmt.Fprintf(f.out, "%s is what the log gives, up to seq %d\n", v.Schema, v.Position)
		return
	}
	rows := "rows"
	if v.OutOfOrder > 0 {
		rows = "other rows"
	}
	fmt.Fprintf(f.out, "%s up to seq %d: %d messages, %d %s and %d definitions are wrong\n", v.Schema, v.Position, v.Faults, v.Differences, rows, v.Definitions)
}

func notWrong(v projector.Verdict) string {
	if v.Strict {
		return ""
	}
	return "; with --strict they count as wrong"
}

func (f findings) line(value any) { _ = json.NewEncoder(f.out).Encode(value) }
