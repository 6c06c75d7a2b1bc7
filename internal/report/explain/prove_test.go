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
	signed, _, err := signer.Sign(ctx, shop.Log, nil)
	require.NoError(t, err)

	prove := func(about Question, answer Answer) (string, error) {
		proven, err := Prove(ctx, shop.Log, about, answer, verifiers, signed, nil)
		if err != nil {
			return "", err
		}
		m, _, err := proven.Check(verifiers)
		return m.ID, err
	}
	about := Question{EventID: "evt_pack", Limit: 1}
	answer, err := Ask(ctx, shop.Log, shop.Tables, about)
	require.NoError(t, err)
	id, err := prove(about, answer)
	require.NoError(t, err)
	require.Equal(t, "evt_pack", id)

	duplicate := Question{Seq: uint64(answer.(Event).Duplicates.Items[0].Seq), Limit: 1}
	answer, err = Ask(ctx, shop.Log, shop.Tables, duplicate)
	require.NoError(t, err)
	id, err = prove(duplicate, answer)
	require.NoError(t, err)
	require.Equal(t, "evt_pack##", id, "the newest duplicate")

	wrong := answer.(Event)
	wrong.Event.StreamSeq++
	_, err = prove(about, wrong)
	require.ErrorContains(t, err, "the tables are not those of this log")
	_, err = prove(Question{User: "u_anna"}, User{})
	require.ErrorContains(t, err, "not about one event")
}
