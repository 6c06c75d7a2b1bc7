package cli

import "github.com/payfold/payfold/internal/proof"

// VerifierFlags are the public keys whose checkpoints a command accepts.
type VerifierFlags struct {
	Key     string `name:"checkpoint-verifier-key" env:"CHECKPOINT_VERIFIER_KEY" help:"For commands that check a checkpoint or a proof: the key that ingest checkpoint --new-key has printed, or several, separated by spaces."`
	KeyFile string `name:"checkpoint-verifier-key-file" env:"CHECKPOINT_VERIFIER_KEY_FILE" help:"File with verifier keys, one a line."`
}

// VerifierKeyName is the environment variable of the verifier keys.
const VerifierKeyName = "CHECKPOINT_VERIFIER_KEY"

// Verifiers returns the keys; it is a fault if there is none, or if one cannot be read.
func (v *VerifierFlags) Verifiers(faults *Faults) proof.Verifiers {
	text, from, ok := given(VerifierKeyName, v.Key, v.KeyFile, faults) // public: several lines are allowed
	switch {
	case !ok:
	case text != "":
		verifiers, err := proof.ParseVerifiers(text)
		faults.Add(err)
		return verifiers
	case v.KeyFile != "":
		faults.Addf("%s is empty", from)
	default:
		faults.Addf("%s is missing: without the signer's verifier key a checkpoint proves nothing; set it to the key that ingest checkpoint --new-key printed", VerifierKeyName)
	}
	return proof.Verifiers{}
}
