package proof

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// keyOf returns a key that is always the same for a name.
func keyOf(t require.TestingT, name string) (note.Signer, Verifiers) {
	private, public, err := note.GenerateKey(zeros{}, name)
	require.NoError(t, err)
	signer, err := note.NewSigner(private)
	require.NoError(t, err)
	verifiers, err := ParseVerifiers(public)
	require.NoError(t, err)
	return signer, verifiers
}

var example = Checkpoint{Size: 1234, Root: tlog.RecordHash(nil), LogID: "0123456789abcdef", First: 7}

func TestACheckpointIsADocumentedNote(t *testing.T) {
	t.Parallel()
	signer, verifiers := keyOf(t, "shop.example")
	signed, err := example.sign(signer)
	require.NoError(t, err)
	text, _, _ := strings.Cut(string(signed), "\n\n")
	require.Equal(t, "shop.example\n1234\nbjQLnP+zepicpUTmu3gKLHiQHT+zNzh2hRGjBhevoB0=\nlog_id 0123456789abcdef\nfirst_seq 7", text)
	opened, err := verifiers.Open(signed)
	require.NoError(t, err)
	require.Equal(t, Checkpoint{"shop.example", 1234, example.Root, example.LogID, 7}, opened)
	require.EqualValues(t, 1240, opened.Last())
}

func TestANoteThatWasEditedOrSignedByAnotherKeyIsRefused(t *testing.T) {
	t.Parallel()
	signer, verifiers := keyOf(t, "shop.example")
	signed, err := example.sign(signer)
	require.NoError(t, err)
	for _, edit := range []string{"1234\n", "first_seq 7", "log_id 0", "bjQL", "shop.example\n1"} {
		changed := strings.Replace(string(signed), edit, edit[:len(edit)-1]+"9", 1)
		require.NotEqual(t, string(signed), changed)
		_, err = verifiers.Open([]byte(changed))
		require.ErrorAs(t, err, new(RefusedError))
	}
	_, err = verifiers.Open([]byte(strings.Replace(string(signed), "1234\n", "1235\n", 1)))
	requireRefused(t, err, "does not hold: the checkpoint was changed")

	_, others := keyOf(t, "other.example")
	_, err = others.Open(signed)
	requireRefused(t, err, `no given verifier key has signed the checkpoint; it names "shop.example"`)
	_, err = verifiers.Open([]byte("anything"))
	requireRefused(t, err, "is not a signed note")

	other, both := keyOf(t, "other.example")
	both.list = append(both.list, verifiers.list...)
	resigned, err := note.Sign(&note.Note{Text: strings.TrimSuffix(string(signed), string(signed)[strings.Index(string(signed), "\n\n")+1:])}, other)
	require.NoError(t, err)
	_, err = both.Open(resigned)
	requireRefused(t, err, `the checkpoint is of "shop.example", and "other.example" has signed it`)
}

func TestOnlyTheTextOfACheckpointIsSignedOrRead(t *testing.T) {
	t.Parallel()
	signer, verifiers := keyOf(t, "shop.example")
	good := Checkpoint{"shop.example", 1234, example.Root, example.LogID, 7}.text()
	for _, text := range []string{
		strings.Replace(good, "1234", "01234", 1), strings.Replace(good, "1234", "+1234", 1), strings.Replace(good, "1234", "-1", 1),
		strings.Replace(good, "1234", "9223372036854775808", 1), strings.Replace(good, "seq 7", "seq 0", 1), strings.Replace(good, "seq 7", "seq 9223372036854775808", 1),
		strings.Replace(good, "first_seq ", "", 1), strings.Replace(good, "log_id 0123456789abcdef\n", "", 1), strings.Replace(good, "0123456789abcdef", "", 1),
		good + "more\n", strings.Replace(good, "0=\n", "1=\n", 1), "shop.example\n",
	} {
		signed, err := note.Sign(&note.Note{Text: text}, signer)
		require.NoError(t, err)
		_, err = verifiers.Open(signed)
		requireRefused(t, err, "not a checkpoint of this program")
	}
	for _, c := range []Checkpoint{{Size: 1, First: 1}, {First: 1, LogID: "a\nb"}, {LogID: "a"}, {First: 1, LogID: "a", Size: 1 << 63}} {
		_, err := c.sign(signer)
		require.ErrorAs(t, err, new(RefusedError))
	}
}

func TestVerifierKeysAreSeparatedBySpacesOrLines(t *testing.T) {
	t.Parallel()
	_, one, err := note.GenerateKey(zeros{}, "one.example")
	require.NoError(t, err)
	_, two, err := note.GenerateKey(zeros{}, "two.example")
	require.NoError(t, err)
	keys, err := ParseVerifiers(one + "\n " + two + "\n")
	require.NoError(t, err)
	require.Len(t, keys.list, 2)
	_, err = ParseVerifiers(one[:len(one)-1])
	require.ErrorContains(t, err, "is not a verifier key")
	_, err = ParseVerifiers(" \n")
	require.ErrorContains(t, err, "there is no verifier key")
}

func TestAVerifierKeyThatIsGivenTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	signer, _ := keyOf(t, "shop.example")
	_, public, err := note.GenerateKey(zeros{}, "shop.example")
	require.NoError(t, err)
	signed, err := example.sign(signer)
	require.NoError(t, err)
	keys, err := ParseVerifiers(public + "\n" + public)
	require.NoError(t, err)
	_, err = keys.Open(signed)
	require.NoError(t, err)
}

func FuzzOpenCheckpoint(f *testing.F) {
	signer, verifiers := keyOf(f, "shop.example")
	signed, err := example.sign(signer)
	require.NoError(f, err)
	f.Add(signed)
	want := example
	want.Origin = "shop.example"
	f.Fuzz(func(t *testing.T, signed []byte) {
		c, err := verifiers.Open(signed)
		if err != nil {
			require.ErrorAs(t, err, new(RefusedError))
			return
		}
		require.Equal(t, want, c, "nothing else was signed with this key")
	})
}

func FuzzParseText(f *testing.F) {
	f.Add(Checkpoint{"shop.example", 1234, example.Root, example.LogID, 7}.text())
	f.Fuzz(func(t *testing.T, text string) {
		if c, err := parseText(text); err == nil {
			require.Equal(t, text, c.text())
			require.LessOrEqual(t, c.First-1, c.Last())
		}
	})
}
