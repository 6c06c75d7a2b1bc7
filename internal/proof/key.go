package proof

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/payfold/payfold/internal/durable"
)

// Files beside a key. A missing signedFile is an error: a signer that has forgotten what it signed
// could sign another history.
const (
	signedFile = ".signed" // the note that was signed last; empty before the first note
	publicFile = ".pub"    // the verifier key
)

// NewKey makes a key for checkpoints in a new file that only its user can read, and returns the
// verifier key. It overwrites nothing.
func NewKey(path, name string) (verifier string, err error) {
	private, verifier, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		return "", fmt.Errorf("make a key: %w", err)
	}
	if _, err := note.NewSigner(private); err != nil || !isPlain(name) {
		return "", fmt.Errorf("%q cannot be a key's name: it must have 1 to 200 printable characters, and neither spaces nor a plus", name)
	}
	var made []string
	for _, file := range []struct {
		path, text string
		mode       os.FileMode
	}{{path, private + "\n", 0o600}, {path + publicFile, verifier + "\n", 0o644}, {path + signedFile, "", 0o600}} {
		err := durable.Create(file.path, file.text, file.mode)
		if err == nil {
			made = append(made, file.path)
			continue
		}
		for _, before := range made {
			err = errors.Join(err, os.Remove(before))
		}
		return "", err
	}
	return verifier, durable.Sync(filepath.Dir(path))
}

// readKey returns a key and its verifier.
func readKey(path string) (note.Signer, Verifiers, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, Verifiers{}, err
	}
	key := strings.TrimSpace(string(text))
	signer, err := note.NewSigner(key)
	if err != nil { // the error must not quote the key
		return nil, Verifiers{}, fmt.Errorf("%s is not a key that ingest checkpoint --new-key made", path)
	}
	parts := strings.SplitN(key, "+", 5) // PRIVATE+KEY+name+hash+base64, which NewSigner has parsed
	seed, err := base64.StdEncoding.DecodeString(parts[4])
	if err != nil {
		return nil, Verifiers{}, err
	}
	public := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey) // the first byte is the algorithm
	verifier, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return nil, Verifiers{}, err
	}
	verifiers, err := ParseVerifiers(verifier)
	return signer, verifiers, err
}
