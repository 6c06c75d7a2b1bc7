package main

import (
	"os"
	"strings"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/verify"
	"github.com/payfold/payfold/internal/webhook"
)

// signerFlags are the secrets with which a command checks signatures again.
type signerFlags struct {
	cli.SecretFlags
	RetiredFile string `name:"provider-webhook-secrets-retired-file" env:"PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE" help:"File with retired signing secrets, one a line."`

	signers []verify.Signer
}

// Check implements cli.Checked.
func (f *signerFlags) Check(faults *cli.Faults) {
	current, previous := f.Take(faults)
	secrets := []string{current, previous}
	if f.RetiredFile != "" {
		text, err := os.ReadFile(f.RetiredFile)
		if err != nil {
			faults.Addf("PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE: %w", err)
		}
		secrets = append(secrets, strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")...)
	}
	f.signers = nil
	for _, secret := range secrets {
		if secret != "" {
			f.signers = append(f.signers, webhook.NewSecret(secret))
		}
	}
}
