package cli

// SecretFlags are the provider's signing secrets, each given as a value or a file.
type SecretFlags struct {
	Secret       string `name:"provider-webhook-secret" env:"PROVIDER_WEBHOOK_SECRET" help:"Signing secret of the provider's endpoint."`
	SecretFile   string `name:"provider-webhook-secret-file" env:"PROVIDER_WEBHOOK_SECRET_FILE" help:"File that contains the signing secret."`
	Previous     string `name:"provider-webhook-secret-previous" env:"PROVIDER_WEBHOOK_SECRET_PREVIOUS" help:"Previous signing secret, accepted during a rotation."`
	PreviousFile string `name:"provider-webhook-secret-previous-file" env:"PROVIDER_WEBHOOK_SECRET_PREVIOUS_FILE" help:"File that contains the previous signing secret."`
}

// SecretName is the environment variable of the current secret.
const SecretName = "PROVIDER_WEBHOOK_SECRET"

// Take returns the secrets, empty if unset, and clears the fields, so that nothing printed
// later can contain a secret.
func (s *SecretFlags) Take(faults *Faults) (current, previous string) {
	current = GivenText(SecretName, s.Secret, s.SecretFile, faults)
	previous = SecretText(SecretName+"_PREVIOUS", s.Previous, s.PreviousFile, faults)
	s.Secret, s.Previous = "", ""
	return current, previous
}
