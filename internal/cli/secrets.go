package cli

import (
	"os"
	"strings"
)

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

// SecretText returns a secret that is given as a value or as the name of a file. It removes
// one newline at the end of the file. It is a fault to give both.
func SecretText(name, value, file string, faults *Faults) string {
	if file == "" {
		return value
	}
	if value != "" {
		faults.Addf("%s and %s_FILE are both set", name, name)
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		faults.Addf("%s_FILE: %w", name, err)
		return ""
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
}

// GivenText is SecretText for a text that nobody leaves empty on purpose, such as an address: without
// an address, the programs use a log or a database of their own. So an empty file is a fault.
func GivenText(name, value, file string, faults *Faults) string {
	before := len(faults.list)
	text := SecretText(name, value, file, faults)
	if file != "" && text == "" && len(faults.list) == before {
		faults.Addf("%s_FILE is empty", name)
	}
	return text
}
