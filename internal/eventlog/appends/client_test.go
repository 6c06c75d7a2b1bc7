package appends

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestTheFastParserOfAnswersAgreesWithTheFullOne(t *testing.T) {
	t.Parallel()
	require.EqualValues(t, 7, readStored([]byte(`{"stream":"PAYMENTS","seq":7}`)), "as the server writes it")
	texts := rapid.OneOf(rapid.Just(`{"stream":"P","seq":12}`), rapid.StringMatching(`\{"stream":"[A-Z"\\]{0,3}","seq": ?[0-9]{0,21}(,"duplicate": ?true)?\}?`), rapid.String())
	rapid.Check(t, func(t *rapid.T) {
		text := texts.Draw(t, "answer")
		var answer struct {
			Stream    string
			Seq       uint64
			Duplicate bool
			Error     any
		}
		seq := readStored([]byte(text))
		if seq == 0 {
			return
		}
		require.NoError(t, json.Unmarshal([]byte(text), &answer))
		require.Equal(t, seq, answer.Seq)
		require.NotEmpty(t, answer.Stream)
		require.False(t, answer.Duplicate)
		require.Nil(t, answer.Error)
		got, duplicate, err := readAnswer("", []byte(text))
		require.NoError(t, err)
		require.False(t, duplicate)
		require.Equal(t, seq, got)
	})
}
