package page

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEverythingThatATerminalActsOnIsEscaped(t *testing.T) {
	t.Parallel()
	require.Equal(t, `one\ntwo \x1b[0m \xff \u202e ü`, Clean("one\ntwo \x1b[0m \xff \u202e ü"))
	var object bytes.Buffer
	require.NoError(t, JSON(&object, map[string]string{"k": "\x1b \x7f \u009b \u202e \U000e0001 ü <&>"}))
	require.Equal(t, `{"k":"\u001b \u007f \u009b \u202e \udb40\udc01 ü <&>"}`+"\n", object.String())
}

func TestWordsOfACommandAreQuoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"pay_1": "pay_1", "a b": "'a b'", "it's": `'it'\''s'`, "$(rm)": "'$(rm)'", "": "''"} {
		require.Equal(t, want, Word(text))
	}
}

func TestANameThatCouldBeMisreadIsQuoted(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "": "-", "-": `"-"`, "a b": `"a b"`, "ü": "ü", "日本": "日本",
		"\x1b[31m": `"\x1b[31m"`, "a\tb\nc": `"a\tb\nc"`, "\x7f": `"\x7f"`, "\u009b": `"\u009b"`,
		"\u202egpj": `"\u202egpj"`, "\u200b": `"\u200b"`, "\xff": `"\xff"`, `a"b`: `"a\"b"`, `a\x1b`: `"a\\x1b"`,
	} {
		require.Equal(t, want, Name(text))
	}
}

func TestACountHasItsNounAndSeparators(t *testing.T) {
	t.Parallel()
	require.Equal(t, "1 event", Count(1, "event"))
	require.Equal(t, "0 events", Count(0, "event"))
	require.Equal(t, "1,250,000 credits", Count(int64(1_250_000), "credit"))
	require.Equal(t, "2 deliveries", Count(2, "delivery"))
	require.Equal(t, "2,000 rows differ", Clause(uint64(2000), "row", "differs", "differ"))
}
