package main

import (
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
	var secrets []string
	for _, given := range f.Take(faults) {
		if given.Provider == "provider" { // the log has no other provider's deliveries yet
			secrets = given.Secrets
		}
	}
	if f.RetiredFile != "" {
		secrets = append(secrets, cli.SecretLines("PROVIDER_WEBHOOK_SECRETS_RETIRED_FILE", f.RetiredFile, faults)...)
	}
	f.signers = nil
	for _, secret := range secrets {
		f.signers = append(f.signers, webhook.NewSecret(secret))
	}
}
