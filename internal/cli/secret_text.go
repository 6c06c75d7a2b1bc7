package cli

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"
)

// SecretText returns a secret that is given as a value or as the name of a file. It removes
// one newline at the end of the file. It is a fault to give both, and if the text is not a secret.
// Then SecretText returns nothing.
func SecretText(name, value, file string, faults *Faults) string {
	text, from, ok := given(name, value, file, faults)
	if !ok || !isSecret(from, text, faults) {
		return ""
	}
	return text
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

// SecretLines returns the secrets of a file with one a line, without empty lines. Each must be a secret.
func SecretLines(name, file string, faults *Faults) (secrets []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		faults.Addf("%s: %w", name, err)
		return nil
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if line = strings.TrimSuffix(line, "\r"); line == "" {
			continue
		}
		if !isSecret(name, line, faults) {
			return nil
		}
		secrets = append(secrets, line)
	}
	return secrets
}

// CheckSecretFile adds a fault if a file that exists has no secret. Something else reads it later.
func CheckSecretFile(name, file string, faults *Faults) {
	text, err := fileText(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		faults.Addf("%s: %w", name, err)
	default:
		isSecret(name, text, faults)
	}
}

// CheckSecretVariables adds a fault for each variable that is set and is not a secret. These are
// variables that libraries read.
func CheckSecretVariables(faults *Faults, names ...string) {
	for _, name := range names {
		isSecret(name, os.Getenv(name), faults)
	}
}

// given returns the text of a value or of a file, and where it is from.
func given(name, value, file string, faults *Faults) (text, from string, ok bool) {
	if file == "" {
		return value, name, true
	}
	from = name + "_FILE"
	if value != "" {
		faults.Addf("%s and %s are both set", name, from)
		return "", from, false
	}
	text, err := fileText(file)
	if err != nil {
		faults.Addf("%s: %w", from, err)
		return "", from, false
	}
	return text, from, true
}

// fileText returns the text of a file without one newline at its end.
func fileText(file string) (string, error) {
	text, err := os.ReadFile(file)
	return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), err
}

// isSecret adds a fault if a text is not a secret. The fault does not repeat the text. An empty text is
// none, and no fault.
func isSecret(name, text string, faults *Faults) bool {
	fault := secretFault(text)
	if fault != "" {
		faults.Addf("%s: a secret is one line of printable characters; this %s", name, fault)
	}
	return fault == ""
}

// secretFault says what keeps a text from being a secret. HMAC pads a key with NULs: whoever signs with
// the empty key would sign as with a key of NULs, which a damaged file can be. The other characters are
// in no secret either; they come from editors and from files of another kind.
func secretFault(text string) string {
	switch {
	case strings.ContainsRune(text, utf8.RuneError): // of a value, kong has replaced the invalid bytes by it
		return "is not UTF-8"
	case strings.ContainsRune(text, '\ufeff'):
		return "has a byte order mark"
	case strings.ContainsAny(text, "\n\r\u2028\u2029"):
		return "has more than one line"
	case strings.ContainsFunc(text, unicode.IsControl):
		return "has a control character"
	case text != "" && strings.TrimSpace(text) == "":
		return "is only white space"
	case strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a character that cannot be printed"
	}
	return ""
}
