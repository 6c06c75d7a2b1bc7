package proof

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/mod/sumdb/note"

	"github.com/payfold/payfold/internal/eventlog"
)

func TestACheckpointCoversWhatTheLogBeginsWith(t *testing.T) {
	t.Parallel()
	w := setup(t, 3)
	signed, first := w.sign()
	require.Contains(t, string(signed), "shop.example/payments\n3\n")
	require.Contains(t, string(signed), "\nfirst_seq 1\n\n— shop.example/payments ")
	w.deliver(4, 5)
	again, second := w.sign()
	require.NotEqual(t, first.Root, second.Root)
	require.EqualValues(t, 5, second.Size)
	repeated, _ := w.sign()
	require.Equal(t, again, repeated, "the same log has one checkpoint")
	require.NoError(t, w.compare(first), "a checkpoint holds when the log has grown")
	require.NoError(t, w.compare(second))
	require.NoError(t, Compare(t.Context(), w.log.Log, second, nil), "received from the server, not read from its files")
}

func TestALogWithoutMessagesHasACheckpoint(t *testing.T) {
	t.Parallel()
	w := setup(t, 0)
	_, c := w.sign()
	require.Zero(t, c.Size)
	require.NoError(t, w.compare(c))
	w.deliver(1, 1)
	_, c = w.sign()
	require.EqualValues(t, 1, c.Size)
}

func TestAnAlteredLogIsRefusedAndNotSigned(t *testing.T) {
	t.Parallel()
	w := setup(t, 4)
	_, c := w.sign()
	w.deliver(5, 5)
	for name, alteration := range alterations {
		w.reader.info, w.reader.change = func(i *eventlog.Info) { i.Last = 4 }, alteration.change
		if alteration.info != nil {
			w.reader.info = func(i *eventlog.Info) {
				i.Last = 4
				alteration.info(i)
			}
		}
		requireRefused(t, w.compare(c), alteration.words)
		before, err := os.ReadFile(w.key + signedFile)
		require.NoError(t, err)
		_, err = w.trySign()
		requireRefused(t, err, alteration.words)
		require.ErrorContains(t, err, "nothing was signed", name)
		after, err := os.ReadFile(w.key + signedFile)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	w.reader.info, w.reader.change = nil, nil
	_, c = w.sign()
	require.EqualValues(t, 5, c.Size)
}

func TestALogThatBeginsLaterIsNamedInItsCheckpoint(t *testing.T) {
	t.Parallel()
	w := setup(t, 4)
	w.reader.info = func(i *eventlog.Info) { i.First = 3 }
	signed, c := w.sign()
	require.Contains(t, string(signed), "\n2\n")
	require.Contains(t, string(signed), "\nfirst_seq 3\n")
	require.NoError(t, w.compare(c))
	w.reader.info = nil
	requireRefused(t, w.compare(c), "the checkpoint begins at seq 3, and the log begins at seq 1")
}

func TestAKeyIsUsedByOneProcessAtATime(t *testing.T) {
	t.Parallel()
	w := setup(t, 1)
	signer, err := OpenSigner(w.key)
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(w.key, link))
	_, err = OpenSigner(link)
	require.ErrorContains(t, err, "another process is signing with it")
	require.NoError(t, signer.Close())
	signer, err = OpenSigner(link)
	require.NoError(t, err)
	_, err = signer.Sign(t.Context(), w.reader, nil)
	require.NoError(t, err)
	require.NoError(t, signer.Close())
	signed, err := os.ReadFile(w.key + signedFile)
	require.NoError(t, err)
	require.NotEmpty(t, signed, "beside the key, and not beside a link to it")
}

func TestASignerThatForgotWhatItSignedSignsNothing(t *testing.T) {
	t.Parallel()
	w := setup(t, 2)
	signed, _ := w.sign()
	require.NoError(t, os.Remove(w.key+signedFile))
	_, err := OpenSigner(w.key)
	require.ErrorContains(t, err, "could sign another history")
	require.NoError(t, os.WriteFile(w.key+signedFile, append([]byte("x"), signed...), 0o600))
	_, err = OpenSigner(w.key)
	requireRefused(t, err, "the checkpoint was changed")
	require.NoError(t, os.WriteFile(w.key+signedFile, signed, 0o600))
	w.sign()
}

// Otherwise the key could sign another history later.
func TestACheckpointThatCannotBeRememberedIsNotReturned(t *testing.T) {
	t.Parallel()
	w := setup(t, 2)
	require.NoError(t, os.MkdirAll(filepath.Join(w.key+signedFile+".new", "in its way"), 0o700))
	signed, err := w.trySign()
	require.ErrorContains(t, err, "nothing was signed")
	require.Empty(t, signed)

	require.NoError(t, os.Remove(w.key+signedFile))
	require.NoError(t, os.Mkdir(w.key+signedFile, 0o700)) // it cannot be read
	_, err = OpenSigner(w.key)
	require.ErrorContains(t, err, "is a directory")
}

func TestALogThatIsReplacedDuringTheReadingIsNotSigned(t *testing.T) {
	t.Parallel()
	w := setup(t, 2)
	asked := 0
	w.reader.info = func(i *eventlog.Info) {
		if asked++; asked > 1 {
			i.LogID = "other"
		}
	}
	_, err := w.trySign()
	require.ErrorContains(t, err, "was replaced by log other during the reading")
}

func TestAStateThatAKillLeftIsReplaced(t *testing.T) {
	t.Parallel()
	w := setup(t, 2)
	require.NoError(t, os.WriteFile(w.key+signedFile+".new", []byte("half"), 0o600))
	signed, _ := w.sign()
	kept, err := os.ReadFile(w.key + signedFile)
	require.NoError(t, err)
	require.Equal(t, signed, kept)
}

func TestANewKeyOverwritesNothing(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	verifier, err := NewKey(path, "shop.example")
	require.NoError(t, err)
	about, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), about.Mode().Perm())
	public, err := os.ReadFile(path + publicFile)
	require.NoError(t, err)
	require.Equal(t, verifier+"\n", string(public))
	for _, file := range []string{path, path + publicFile, path + signedFile} {
		before, err := os.ReadFile(file)
		require.NoError(t, err)
		_, err = NewKey(path, "shop.example")
		require.ErrorIs(t, err, os.ErrExist)
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, before, after)
	}
	require.NoError(t, os.Remove(path))
	_, err = NewKey(path, "shop.example")
	require.ErrorIs(t, err, os.ErrExist)
	require.NoFileExists(t, path, "half a key is removed again")
	for _, name := range []string{"", "a b", "a+b", "a\nb", "a\u00a0b", "\x1b[2J"} {
		_, err = NewKey(filepath.Join(t.TempDir(), "key"), name)
		require.ErrorContains(t, err, "cannot be a key's name", "%q", name)
	}
}

func TestAKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	private, _, err := note.GenerateKey(zeros{}, "shop.example")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, []byte(private[:len(private)-2]), 0o600))
	_, err = OpenSigner(path)
	require.ErrorContains(t, err, "is not a key that ingest checkpoint --new-key made")
	require.NotContains(t, err.Error(), private[30:40])
}

// zeros is a source of bytes that is not random.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }
