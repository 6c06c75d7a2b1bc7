package cli

import (
	"reflect"
	"strings"

	"github.com/payfold/payfold/internal/providerapi"
)

// APIFlags are the keys and addresses of the providers' APIs.
type APIFlags struct {
	Creem  APIKey `embed:"" prefix:"creem-api-" envprefix:"CREEM_API_" set:"of=Creem"`
	Paddle APIKey `embed:"" prefix:"paddle-api-" envprefix:"PADDLE_API_" set:"of=Paddle"`
	Polar  APIKey `embed:"" prefix:"polar-api-" envprefix:"POLAR_API_" set:"of=Polar"`
	Stripe APIKey `embed:"" prefix:"stripe-api-" envprefix:"STRIPE_API_" set:"of=Stripe"`

	CreemWebhookID string `name:"creem-webhook-id" env:"CREEM_WEBHOOK_ID" help:"Creem's id of the webhook of the mode cli whose pending events are pulled."`
}

// APIKey is the key of one provider's API, as a value or a file, and the API's address.
type APIKey struct {
	Key     string `name:"key" env:"KEY" help:"Key of the API of ${of}; a right to read is enough."`
	KeyFile string `name:"key-file" env:"KEY_FILE" help:"File that contains it."`
	URL     string `name:"url" env:"URL" help:"Address of the API of ${of}, if it is not its own, such as that of its sandbox."`
}

// Take returns how to ask the API of each provider that has a key, by the provider's name, and clears the fields, so that
// nothing printed later can contain a key.
func (f *APIFlags) Take(faults *Faults) map[string]providerapi.Config {
	flags, out := reflect.ValueOf(f).Elem(), map[string]providerapi.Config{}
	for i, field := range reflect.VisibleFields(flags.Type()) {
		given, is := flags.Field(i).Addr().Interface().(*APIKey)
		if !is {
			continue
		}
		name, prefix := strings.ToLower(field.Name), field.Tag.Get("envprefix")
		key, err := providerapi.NewKey(GivenText(prefix+"KEY", given.Key, given.KeyFile, faults))
		if err != nil {
			faults.Addf("%sKEY: %w", prefix, err)
		}
		if given.URL != "" {
			if _, err := providerapi.ParseURL(given.URL); err != nil {
				faults.Addf("%sURL: %w", prefix, err)
			}
		}
		if !key.IsZero() {
			out[name] = providerapi.Config{Provider: name, URL: given.URL, Key: key}
		}
	}
	if creem, has := out["creem"]; has {
		creem.WebhookID = f.CreemWebhookID
		out["creem"] = creem
	}
	*f = APIFlags{}
	return out
}
