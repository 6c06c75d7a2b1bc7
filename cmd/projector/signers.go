package main

import (
	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/providers"
)

// signerFlags are the secrets with which a command checks signatures again.
type signerFlags struct {
	cli.SecretFlags
	RetiredFile string `name:"retired-secrets-file" env:"RETIRED_SECRETS_FILE" help:"For verify: file with retired signing secrets of any provider, one a line."`

	secrets providers.Secrets
}

// Check implements cli.Checked.
func (f *signerFlags) Check(faults *cli.Faults) {
	f.secrets = cli.NewSecrets(f.Take(faults), faults)
	if f.RetiredFile == "" {
		return
	}
	for _, text := range cli.SecretLines("RETIRED_SECRETS_FILE", f.RetiredFile, faults) {
		for _, p := range providers.All {
			if secret, err := p.NewSecret(text); err == nil { // otherwise it is one of another provider
				f.secrets[p.Name()] = append(f.secrets[p.Name()], secret)
			}
		}
	}
}
