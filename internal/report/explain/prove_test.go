package explain

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/payfold/payfold/internal/proof"
	"github.com/payfold/payfold/internal/testenv/fixture"
)

func TestTheEventOfAnAnswerIsProven(t *testing.T) {
	t.Parallel()
	ctx, shop := fixture.NewFolded(t, 6, fixture.Month()[:6]...)
	key := filepath.Join(t.TempDir(), "key")
	verifier, err := proof.NewKey(key, "shop.example")
	require.NoError(t, err)
	verifiers, err := proof.ParseVerifiers(verifier)
	require.NoError(t, err)
	signer, err := proof.OpenSigner(key)
	require.NoError(t, err)
	defer signer.Close()
	signed, err := signer.Sign(ctx, shop.Log, nil)
	require.NoError(t, err)

	prove := func(seq int64, id string) (string, error) {
		proven, err := Prove(ctx, shop.Log, uint64(seq), id, verifiers, signed, nil)
		if err != nil {
			return "", err
		}
		m, _, err := proven.Check(verifiers)
		return m.ID, err
	}
	event, err := ReadEvent(ctx, shop.Log, shop.Tables, "evt_pack", 1)
	require.NoError(t, err)
	id, err := prove(event.Event.StreamSeq, "evt_pack")
	require.NoError(t, err)
	require.Equal(t, "evt_pack", id)

	id, err = prove(event.Duplicates.Items[0].Seq, "")
	require.NoError(t, err)
	require.Equal(t, "evt_pack##", id, "the newest duplicate")

	_, err = prove(event.Event.StreamSeq+1, "evt_pack")
	require.ErrorContains(t, err, "the tables are not those of this log")
}
