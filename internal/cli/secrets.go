package cli

// SecretFlags are the provider's signing secrets, each as a value or a file.
type SecretFlags struct {
	Secret       string `name:"provider-webhook-secret" env:"PROVIDER_WEBHOOK_SECRET" help:"Signing secret of the provider's endpoint."`
	SecretFile   string `name:"provider-webhook-secret-file" env:"PROVIDER_WEBHOOK_SECRET_FILE" help:"File that holds it."`
	Previous     string `name:"provider-webhook-secret-previous" env:"PROVIDER_WEBHOOK_SECRET_PREVIOUS" help:"The secret before, during a rotation."`
	PreviousFile string `name:"provider-webhook-secret-previous-file" env:"PROVIDER_WEBHOOK_SECRET_PREVIOUS_FILE" help:"File that holds it."`
}

// SecretName is the variable of the secret in force.
const SecretName = "PROVIDER_WEBHOOK_SECRET"

// Take returns the secrets, empty where unset, and forgets them: nothing that
// is printed later can hold them.
func (s *SecretFlags) Take(faults *Faults) (current, previous string) {
	current = SecretText(SecretName, s.Secret, s.SecretFile, faults)
	previous = SecretText(SecretName+"_PREVIOUS", s.Previous, s.PreviousFile, faults)
	s.Secret, s.Previous = "", ""
	return current, previous
}
