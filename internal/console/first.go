package console

import (
	"maps"
	"slices"
	"strings"

	"github.com/payfold/payfold/internal/cli"
	"github.com/payfold/payfold/internal/providers"
)

// firstStep is what a provider needs before its first event can come.
type firstStep struct {
	Provider string
	Path     string // of the address of its webhook
	Variable string // that has its secret
}

// firstSteps lists those whose secret the console knows, or else the neutral one.
func (c *Console) firstSteps() (out []firstStep) {
	names := slices.Sorted(maps.Keys(c.Secrets))
	if len(names) == 0 {
		names = []string{"provider"}
	}
	for _, name := range names {
		if p := providers.Named(name); p != nil {
			out = append(out, firstStep{name, p.Path(), strings.ToUpper(name) + strings.TrimPrefix(cli.SecretName, "PROVIDER")})
		}
	}
	return out
}
