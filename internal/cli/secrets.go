package cli

import (
	"reflect"
	"strings"

	"github.com/payfold/payfold/internal/events"
	"github.com/payfold/payfold/internal/providers"
)

// SecretFlags are the signing secrets of the providers.
type SecretFlags struct {
	Provider     SigningSecret `embed:"" prefix:"provider-webhook-" envprefix:"PROVIDER_WEBHOOK_" set:"of=the provider's endpoint"`
	Creem        SigningSecret `embed:"" prefix:"creem-webhook-" envprefix:"CREEM_WEBHOOK_" set:"of=Creem"`
	Stripe       SigningSecret `embed:"" prefix:"stripe-webhook-" envprefix:"STRIPE_WEBHOOK_" set:"of=Stripe"`
	Paddle       SigningSecret `embed:"" prefix:"paddle-webhook-" envprefix:"PADDLE_WEBHOOK_" set:"of=Paddle"`
	Polar        SigningSecret `embed:"" prefix:"polar-webhook-" envprefix:"POLAR_WEBHOOK_" set:"of=Polar"`
	Dodo         SigningSecret `embed:"" prefix:"dodo-webhook-" envprefix:"DODO_WEBHOOK_" set:"of=Dodo Payments"`
	Lemonsqueezy SigningSecret `embed:"" prefix:"lemonsqueezy-webhook-" envprefix:"LEMONSQUEEZY_WEBHOOK_" set:"of=Lemon Squeezy"`
	Payfold      SigningSecret `embed:"" prefix:"payfold-event-" envprefix:"PAYFOLD_EVENT_" set:"of=your own events"`
}

// SigningSecret is the signing secret of one provider, and its previous one, each as a value or a file.
type SigningSecret struct {
	Current      string `name:"secret" env:"SECRET" help:"Signing secret of ${of}."`
	CurrentFile  string `name:"secret-file" env:"SECRET_FILE" help:"File that contains it."`
	Previous     string `name:"secret-previous" env:"SECRET_PREVIOUS" help:"Previous signing secret of ${of}, accepted during a rotation."`
	PreviousFile string `name:"secret-previous-file" env:"SECRET_PREVIOUS_FILE" help:"File that contains it."`
}

// SecretOf returns the variable of the current secret of a provider; empty if there is no such provider.
func SecretOf(provider string) string {
	for _, field := range reflect.VisibleFields(reflect.TypeFor[SecretFlags]()) {
		if strings.ToLower(field.Name) == provider {
			return secretName(field)
		}
	}
	return ""
}

// SecretName is the environment variable of the current secret of the provider named provider.
const SecretName = "PROVIDER_WEBHOOK_SECRET"

// NewSecrets returns the secrets of all providers. It is a fault if one cannot be a secret of its provider.
func NewSecrets(given []GivenSecret, faults *Faults) providers.Secrets {
	out := providers.Secrets{}
	for _, of := range given {
		secret, err := providers.Named(of.Provider).NewSecret(of.Text)
		if err != nil {
			faults.Addf("%s: %w", of.Variable, err)
			continue
		}
		out[of.Provider] = append(out[of.Provider], secret)
	}
	return out
}

// GivenSecret is a signing secret of a provider that is served.
type GivenSecret struct {
	Provider string // such as stripe: the name of the flags' field in lower case
	Variable string
	Text     string
}

// Take returns the secrets of each provider that has one, the current one before the previous one. It clears the fields,
// so that nothing printed later can contain a secret.
func (s *SecretFlags) Take(faults *Faults) (given []GivenSecret) {
	flags := reflect.ValueOf(s).Elem()
	for i, field := range reflect.VisibleFields(flags.Type()) {
		of, variable, before := flags.Field(i).Interface().(SigningSecret), secretName(field), len(faults.list)
		current := GivenText(variable, of.Current, of.CurrentFile, faults)
		previous := SecretText(variable+"_PREVIOUS", of.Previous, of.PreviousFile, faults)
		if current == "" && previous != "" && len(faults.list) == before {
			faults.Addf("%s_PREVIOUS is set and %[1]s is not: set the current secret, too", variable)
		}
		if current != "" {
			given = append(given, GivenSecret{strings.ToLower(field.Name), variable, current})
		}
		if previous != "" {
			given = append(given, GivenSecret{strings.ToLower(field.Name), variable + "_PREVIOUS", previous})
		}
	}
	*s = SecretFlags{}
	return given
}

// Require is Take for a command that needs a secret.
func (s *SecretFlags) Require(faults *Faults) []GivenSecret {
	before := len(faults.list)
	given := s.Take(faults)
	if len(given) == 0 && len(faults.list) == before {
		var names []string
		for _, field := range reflect.VisibleFields(reflect.TypeFor[SecretFlags]()) {
			names = append(names, secretName(field))
		}
		faults.Addf("no signing secret is set: copy it from the provider's dashboard into its variable, one of %s", strings.Join(names, ", "))
	}
	return given
}

// secretName returns the variable of the current secret of a provider.
func secretName(provider reflect.StructField) string { return provider.Tag.Get("envprefix") + "SECRET" }

// OwnSecretFlags are the signing secret of the shop's own events.
type OwnSecretFlags struct {
	Secret     string `name:"payfold-event-secret" env:"PAYFOLD_EVENT_SECRET" help:"Signing secret of your own events."`
	SecretFile string `name:"payfold-event-secret-file" env:"PAYFOLD_EVENT_SECRET_FILE" help:"File that contains it."`
}

// Require returns the secret, and clears the fields, so that nothing printed later can contain it. It is a fault if there
// is none.
func (s *OwnSecretFlags) Require(faults *Faults) providers.Secrets {
	const variable = "PAYFOLD_EVENT_SECRET"
	before := len(faults.list)
	text := GivenText(variable, s.Secret, s.SecretFile, faults)
	*s = OwnSecretFlags{}
	if text == "" && len(faults.list) == before {
		faults.Addf("%s is missing: own events are signed with it, and ingest must have the same", variable)
	}
	if text == "" {
		return nil
	}
	return NewSecrets([]GivenSecret{{events.OwnEvents, variable, text}}, faults)
}
