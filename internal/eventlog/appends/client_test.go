package appends

import (
	"encoding/json"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
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

func TestOnlyAnAnswerThatNamesAStreamAndASequenceConfirms(t *testing.T) {
	t.Parallel()
	for answer, fault := range map[string]error{
		"": errBadAnswer, "{}": errBadAnswer, "[]": errBadAnswer, `{"stream":"P"}`: errBadAnswer, `{"seq":1}`: errBadAnswer,
		`{"stream":"P","seq":0}`: errBadAnswer, `{"stream":"","seq":1,"duplicate":true}`: errBadAnswer,
		`{"stream":"P","seq":1,"error":{"err_code":10158}}`: errBusy,
	} {
		_, _, err := readAnswer("", []byte(answer))
		require.ErrorIs(t, err, fault, answer)
	}
	_, _, err := readAnswer("", []byte(`{"stream":"P","seq":1,"error":{"err_code":10077,"description":"maximum messages exceeded"}}`))
	require.ErrorContains(t, err, "maximum messages exceeded (10077)")
	_, _, err = readAnswer(noResponders, nil)
	require.ErrorIs(t, err, jetstream.ErrNoStreamResponse)
	seq, duplicate, err := readAnswer("", []byte(`{"stream":"P","seq":7,"duplicate":true}`))
	require.NoError(t, err)
	require.EqualValues(t, 7, seq)
	require.True(t, duplicate)
}
